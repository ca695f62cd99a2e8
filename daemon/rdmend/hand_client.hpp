// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "remedies/remedy.hpp"

namespace rdmend::daemon {

// The daemon's end of the external hand. `path` is either the program rdmend-hand, which is then our child on a socket pair, or a unix
// socket behind which systemd starts one for each connection (rdmend-hand.socket): so the capability never passes through the daemon.
// A hand that ends, hangs beyond a request's deadline or answers nonsense is replaced, with a back-off that doubles up to a minute.
class HandClient : public remedies::Hand {
 public:
  // An empty path: acting is not granted.
  HandClient(Reactor& reactor, std::string path, milliseconds first_back_off = seconds{1});
  ~HandClient() override;
  HandClient(const HandClient&) = delete;
  HandClient& operator=(const HandClient&) = delete;

  // Starts the hand; from then on it is kept there.
  void start();
  // One after the other; requests of more than wire::kHandMostQps QPs are asked in parts and answered as one. `request.id` is set here.
  void request(wire::HandRequest request, milliseconds deadline, std::function<void(Result<wire::HandReply>)> done) override;
  [[nodiscard]] std::string unavailable() const override;
  // The child's process id, 0 when there is none.
  [[nodiscard]] int child() const;

  static constexpr std::size_t kMostWaiting = 64;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::daemon
