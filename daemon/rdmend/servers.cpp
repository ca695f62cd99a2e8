// SPDX-License-Identifier: Apache-2.0
#include "rdmend/servers.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace rdmend::daemon {

Result<void> Servers::open_control(const std::string& path, const std::string& group) {
  auto listener = Listener::open({{}, 0, path, "the control socket " + path}, {0660, group});
  if (!listener) return listener.error();
  HttpServer::Limits limits;
  limits.connections = 64;
  auto server = HttpServer::start(reactor_, std::move(*listener), true, limits, handler_);
  if (!server) return server.error();
  control_ = std::move(*server);
  return {};
}

Result<void> Servers::open(const config::Listen& where, Open& into) {
  auto listener = Listener::open(where);
  if (!listener) return listener.error();
  auto server = HttpServer::start(reactor_, std::move(*listener), false, {}, handler_);
  if (!server) return server.error();
  into[where.text] = {where, std::move(*server)};
  return {};
}

Result<void> Servers::listen_on(const std::vector<config::Listen>& wanted) {
  // What goes is closed first, for it may stand in the way: "[::]:9879" after "127.0.0.1:9879".
  std::vector<config::Listen> closed;
  std::erase_if(open_, [&](const auto& entry) {
    const bool stays = std::any_of(wanted.begin(), wanted.end(), [&](const config::Listen& w) { return w.text == entry.first; });
    if (!stays) closed.push_back(entry.second.first);
    return !stays;
  });
  Open fresh;
  for (const auto& where : wanted) {
    if (open_.contains(where.text) || fresh.contains(where.text)) continue;
    auto opened = open(where, fresh);
    if (opened) continue;
    fresh.clear();
    for (const auto& before : closed)
      if (const auto again = open(before, open_); !again) log::error("http", "cannot go back to an address", {{"error", again.error().message}});
    return opened.error();
  }
  open_.merge(fresh);
  return {};
}

void Servers::close_all() {
  open_.clear();
  control_.reset();
}

}  // namespace rdmend::daemon
