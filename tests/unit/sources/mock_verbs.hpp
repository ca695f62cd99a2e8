// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

namespace rdmend::test {

// Stands where libibverbs' provider would: the test's own definitions of the calls that rdmend makes, over devices that the test
// names. No machine without hardware can report DEVICE_FATAL of one device and PORT_ERR of the second port of another.
class MockVerbs {
 public:
  MockVerbs();
  ~MockVerbs();
  MockVerbs(const MockVerbs&) = delete;
  MockVerbs& operator=(const MockVerbs&) = delete;

  void add(const std::string& device);
  // The event waits in every context of the device that is open.
  void raise(const std::string& device, int type, int port = 0);
  [[nodiscard]] int reads_after_fatal() const;  // of contexts that had reported DEVICE_FATAL
  [[nodiscard]] int open(const std::string& device) const;
  [[nodiscard]] int opened(const std::string& device) const;  // ever
  [[nodiscard]] int unacknowledged() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::test
