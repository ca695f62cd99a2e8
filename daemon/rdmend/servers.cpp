// SPDX-License-Identifier: Apache-2.0
#include "rdmend/servers.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace rdmend::daemon {

Result<std::shared_ptr<const Listener>> Servers::listener_for(const config::Listen& where, const SocketAccess& access) {
  const auto passed = std::find_if(passed_.begin(), passed_.end(), [&](const PassedSocket& p) { return same_address(p.where, where); });
  auto listener = passed != passed_.end() ? Listener::adopt(passed->fd, where) : Listener::open(where, access);
  if (!listener) return listener.error();
  return std::shared_ptr<const Listener>(std::make_shared<Listener>(std::move(*listener)));
}

Result<void> Servers::open_control(const std::string& path, const std::string& group) {
  const auto listener = listener_for({{}, 0, path, "the control socket " + path}, {0660, group});
  if (!listener) return listener.error();
  HttpServer::Options options{.control = true};
  options.limits.connections = 64;
  auto server = HttpServer::start(reactor_, *listener, std::move(options), handler_);
  if (!server) return server.error();
  control_ = std::move(*server);
  control_path_ = path;
  return {};
}

Result<void> Servers::open(const config::Listen& where, std::shared_ptr<const Listener> listener, Open& into) {
  if (!listener) {
    auto opened = listener_for(where, {});
    if (!opened) return opened.error();
    listener = std::move(*opened);
  }
  auto server = HttpServer::start(reactor_, std::move(listener), {.how = where}, handler_);
  if (!server) return server.error().within("listening on " + where.text);
  into[where.text] = {where, std::move(*server)};
  return {};
}

Result<void> Servers::listen_on(const std::vector<config::Listen>& wanted) {
  // What goes is closed first, for it may stand in the way: "[::]:9879" after "127.0.0.1:9879".
  std::vector<config::Listen> closed;
  std::erase_if(open_, [&](const auto& entry) {
    const bool stays = std::any_of(wanted.begin(), wanted.end(), [&](const config::Listen& w) { return w.text == entry.first; });
    if (!stays) closed.push_back(entry.second.how);
    return !stays;
  });
  Open fresh;
  for (const auto& where : wanted) {
    const auto known = open_.find(where.text);
    if ((known != open_.end() && known->second.how == where) || fresh.contains(where.text)) continue;
    auto opened = open(where, known == open_.end() ? nullptr : known->second.server->listener(), fresh);
    if (opened) continue;
    fresh.clear();
    for (const auto& before : closed)
      if (const auto again = open(before, nullptr, open_); !again) log::error("http", "cannot go back to an address", {{"error", again.error().message}});
    return opened.error();
  }
  for (auto& [text, one] : fresh) open_[text] = std::move(one);
  return {};
}

void Servers::tell_unused() const {
  for (const auto& passed : passed_) {
    const auto served = [&](const auto& entry) { return same_address(entry.second.how, passed.where); };
    if (passed.where.path != control_path_ && std::none_of(open_.begin(), open_.end(), served))
      log::warning("http", "a socket that was passed is not served: listen has no such address", {{"address", passed.where.text}});
  }
}

std::vector<Servers::Status> Servers::status() const {
  std::vector<Status> out;
  if (control_) out.push_back({"control", control_->connections(), control_->dropped()});
  for (const auto& [text, one] : open_) out.push_back({text, one.server->connections(), one.server->dropped()});
  return out;
}

void Servers::close_all() {
  open_.clear();
  control_.reset();
}

}  // namespace rdmend::daemon
