// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace rdmend::daemon {

// One connection, as far as the server's own clock and limits are concerned.
struct Client {
  int fd = -1;
  std::string source;  // whom it counts for: an IPv4 address, an IPv6 network of 64 bits, a user of this host
  Instant since{};     // the begin of the request under way, or the end of the last one
  std::size_t unsent = 0;  // bytes of the answer that is being sent
  bool new_here = true;  // has asked for nothing yet: where there is TLS, its handshake may be under way
  bool waits_for_us = false;
  bool certified = false;  // has shown a certificate that we trust
  bool dropped = false;
};

// All the connections of one server, and whom to drop when there are too many: the oldest of whoever has the most. A newcomer
// is therefore always served, and a crowd from one address costs only that address.
class Clients {
 public:
  Client* add(int fd, Instant now);
  void remove(Client* client);
  // Its first request has begun.
  void settle(Client& client);
  // Instead of what source_of() says.
  void count_for(Client& client, const std::string& source);
  [[nodiscard]] std::size_t size() const { return clients_.size(); }
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  [[nodiscard]] std::size_t newcomers() const { return newcomers_; }
  // How many were dropped, for whatever reason.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  void set_unsent(Client& client, std::size_t bytes);
  // Shuts the connection of the one to drop; false when there is none: who waits for us cannot be dropped.
  bool drop_one();
  // The same among those that have asked for nothing yet.
  bool drop_a_newcomer();
  // The same among those that are sent something, `but` excepted, to free the memory that their answers take.
  bool drop_a_reader(const Client* but);
  // Those whose request has been under way for longer than `limit`, and those that have asked for nothing yet, for longer than `newcomers`.
  void drop_slow(Instant now, milliseconds limit, milliseconds newcomers);

 private:
  enum class Among { all, readers, newcomers };
  Client* oldest(const std::string* source, Among among, const Client* but) const;
  bool drop_of_greediest(Among among);
  void drop(Client& client);
  void forget_source(const Client& client);

  std::map<Client*, std::unique_ptr<Client>> clients_;
  std::map<std::string, std::size_t> per_source_;
  std::size_t unsent_ = 0;
  std::size_t newcomers_ = 0;
  std::uint64_t dropped_ = 0;
};

// Whom the other end of a socket counts for.
std::string source_of(int fd);

}  // namespace rdmend::daemon
