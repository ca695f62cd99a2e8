// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace rdmend::test {

// All that a schedule leaves to chance. Each choice is recorded, and choice 0 is always the harmless one: a schedule is its seed and
// its choices, and one that fails is made smaller by setting choices to 0.
class Chooser {
 public:
  enum class Mode { random, given };
  Chooser(Mode mode, std::uint64_t seed, std::vector<std::uint8_t> given = {}) : mode_(mode), state_(seed), choices_(~seed), given_(std::move(given)) {}

  // 0 .. options-1. In random mode each is equally likely.
  std::uint32_t pick(std::uint32_t options) {
    const auto at = made.size();
    std::uint32_t choice = 0;
    if (at < given_.size()) {
      choice = given_[at] % options;
    } else if (mode_ == Mode::random) {
      choice = static_cast<std::uint32_t>(mixed(choices_) % options);
    }
    made.push_back(static_cast<std::uint8_t>(choice));
    of.push_back(static_cast<std::uint8_t>(options));
    return choice;
  }
  // True in so many of a thousand cases.
  bool chance(std::uint32_t permille) {
    const auto at = made.size();
    bool yes = false;
    if (at < given_.size()) {
      yes = given_[at] % 2 == 1;
    } else if (mode_ == Mode::random) {
      yes = mixed(choices_) % 1000 < permille;
    }
    made.push_back(yes ? 1 : 0);
    of.push_back(permille == 0 ? 1 : 2);
    return yes;
  }
  // Not a choice of the schedule: of what it is about. Its numbers are the same whatever is chosen.
  std::uint64_t next() { return mixed(state_); }

  std::vector<std::uint8_t> made, of;

 private:
  static std::uint64_t mixed(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    auto z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  Mode mode_;
  std::uint64_t state_, choices_;
  std::vector<std::uint8_t> given_;
};

}  // namespace rdmend::test
