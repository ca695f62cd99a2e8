// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "base/log.hpp"
#include "config/config.hpp"

struct MHD_Connection;

namespace rdmend::daemon {

struct Client;

// Who may ask a server: whoever shows a certificate that its client_ca has signed, and knows its password, where these are
// configured. Refusals are logged, at most one a minute and source, never with what was tried.
class Guard {
 public:
  explicit Guard(const config::Listen& how);

  struct Refusal {
    int status;
    std::string text;
  };
  // Why this request is refused; none when it is not.
  std::optional<Refusal> refuse(MHD_Connection* connection, Client* client, Instant now);

 private:
  [[nodiscard]] bool knows_password(MHD_Connection* connection) const;
  void tell(const Client* client, Instant now, std::string_view why);

  bool wants_certificate_;
  bool wants_password_;
  std::string expected_;  // digest of name and password
  log::Limiter limiter_;
};

}  // namespace rdmend::daemon
