// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "model/qp.hpp"
#include "model/sample.hpp"
#include "sources/made_labels.hpp"
#include "sources/nl_socket.hpp"

namespace rdmend::sources {

// What a worker brings of one dump.
struct QpReading {
  std::vector<QpInfo> qps;
  std::vector<std::uint32_t> owners;  // process of each QP (its pid is a thread's), 0 when it cannot be told
  bool truncated = false;             // the cap was reached, or the dump failed and is not whole
  int error = 0;                      // errno of a dump that failed
};

// Reads all QPs of one device. A dump ends at the first QP that the driver cannot query: those that were known before and
// are missing are then asked for one by one. Used in one worker at a time.
class QpReader {
 public:
  // `proc`: the directory whose <pid>/comm names a process.
  QpReader(std::uint32_t device_index, std::string device, std::string proc, std::size_t cap);
  QpReading read();
  void set_cap(std::size_t cap) { cap_ = cap; }

 private:
  int dump(QpReading& into);
  void ask_one_by_one(QpReading& into);
  void name_owners(QpReading& reading) const;
  void name_peers(QpReading& reading);
  std::uint32_t index_;
  std::string device_, proc_;
  std::size_t cap_;
  std::optional<NlSocket> socket_;
  std::set<std::uint32_t> known_;
  bool peers_told_ = true;  // false: this kernel does not tell the connections of rdma_cm
};

// What becomes series of one device's dumps.
class QpSeries {
 public:
  explicit QpSeries(std::string device) : device_(std::move(device)) {}
  // A QP counts as stuck in error when two dumps that lie at least half of `interval` apart found it in ERR, of the same process.
  std::vector<Sample> step(const QpReading& reading, Timestamp at, milliseconds interval);

 private:
  std::string device_;
  MadeLabels labels_;
  std::set<std::pair<std::string, std::string>> seen_;  // type, state: 0 once they had QPs
  std::map<std::pair<std::uint32_t, std::uint32_t>, Timestamp> error_since_;  // QPN, pid
};

}  // namespace rdmend::sources
