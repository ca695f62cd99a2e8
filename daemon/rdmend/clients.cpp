// SPDX-License-Identifier: Apache-2.0
#include "rdmend/clients.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace rdmend::daemon {

std::string source_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "unknown";
  if (address.ss_family == AF_INET)
    return inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text.data(), text.size());
  if (address.ss_family == AF_INET6) {
    auto host = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&host)) return inet_ntop(AF_INET, host.s6_addr + 12, text.data(), text.size());
    // Whoever has one address of a network has them all.
    std::memset(host.s6_addr + 8, 0, 8);
    return std::string(inet_ntop(AF_INET6, &host, text.data(), text.size())) + "/64";
  }
  ucred peer{};
  length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return "unknown";
  return "user " + std::to_string(peer.uid);
}

Client* Clients::add(int fd, Instant now) {
  auto made = std::make_unique<Client>();
  made->fd = fd;
  made->since = now;
  auto* client = made.get();
  clients_[client] = std::move(made);
  ++newcomers_;
  count_for(*client, source_of(fd));
  return client;
}

void Clients::settle(Client& client) {
  if (std::exchange(client.new_here, false)) --newcomers_;
}

void Clients::remove(Client* client) {
  settle(*client);
  set_unsent(*client, 0);
  forget_source(*client);
  clients_.erase(client);
}

void Clients::forget_source(const Client& client) {
  if (const auto count = per_source_.find(client.source); count != per_source_.end() && --count->second == 0) per_source_.erase(count);
}

void Clients::count_for(Client& client, const std::string& source) {
  forget_source(client);
  client.source = source;
  ++per_source_[source];
}

void Clients::set_unsent(Client& client, std::size_t bytes) {
  unsent_ += bytes - client.unsent;
  client.unsent = bytes;
}

Client* Clients::oldest(const std::string* source, Among among, const Client* but) const {
  Client* found = nullptr;
  for (const auto& [client, owned] : clients_) {
    if (client->waits_for_us || client->dropped || client == but) continue;
    if ((among == Among::readers && client->unsent == 0) || (among == Among::newcomers && !client->new_here)) continue;
    if (source != nullptr && client->source != *source) continue;
    // Who is being answered has done its part: it goes only when nobody else is left.
    const auto rank = [&](const Client& c) { return std::pair(among != Among::readers && c.unsent > 0, c.since); };
    if (found == nullptr || rank(*client) < rank(*found)) found = client;
  }
  return found;
}

void Clients::drop(Client& client) {
  client.dropped = true;
  ++dropped_;
  set_unsent(client, 0);
  shutdown(client.fd, SHUT_RDWR);
}

bool Clients::drop_of_greediest(Among among) {
  const auto greediest = std::max_element(per_source_.begin(), per_source_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (greediest == per_source_.end()) return false;
  auto* client = oldest(&greediest->first, among, nullptr);
  if (client == nullptr) client = oldest(nullptr, among, nullptr);
  if (client != nullptr) drop(*client);
  return client != nullptr;
}

bool Clients::drop_one() { return drop_of_greediest(Among::all); }
bool Clients::drop_a_newcomer() { return drop_of_greediest(Among::newcomers); }

bool Clients::drop_a_reader(const Client* but) {
  auto* client = oldest(nullptr, Among::readers, but);
  if (client != nullptr) drop(*client);
  return client != nullptr;
}

void Clients::drop_slow(Instant now, milliseconds limit, milliseconds newcomers) {
  for (const auto& [client, owned] : clients_)
    if (!client->waits_for_us && !client->dropped && now - client->since > (client->new_here ? newcomers : limit)) drop(*client);
}

}  // namespace rdmend::daemon
