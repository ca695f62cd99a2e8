// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>

#include "journal/rows.hpp"

namespace rdmend::journal {

// Entries, oldest first, bounded in number and bytes: the oldest go.
class EntryQueue {
 public:
  EntryQueue(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  // Each returns how many had to go.
  std::size_t push(JournalEntry entry) {
    bytes_ += bytes_of(entry);
    entries_.push_back(std::move(entry));
    return trim();
  }
  std::size_t push_before(const std::vector<JournalEntry>& older) {
    for (const auto& entry : older) bytes_ += bytes_of(entry);
    entries_.insert(entries_.begin(), older.begin(), older.end());
    return trim();
  }
  std::vector<JournalEntry> take() {
    std::vector<JournalEntry> all(std::make_move_iterator(entries_.begin()), std::make_move_iterator(entries_.end()));
    entries_.clear();
    bytes_ = 0;
    return all;
  }
  [[nodiscard]] const std::deque<JournalEntry>& all() const { return entries_; }

 private:
  std::size_t trim() {
    std::size_t gone = 0;
    for (; entries_.size() > 1 && (entries_.size() > most_ || bytes_ > most_bytes_); ++gone) {
      bytes_ -= bytes_of(entries_.front());
      entries_.pop_front();
    }
    return gone;
  }
  std::size_t most_, most_bytes_, bytes_ = 0;
  std::deque<JournalEntry> entries_;
};

}  // namespace rdmend::journal
