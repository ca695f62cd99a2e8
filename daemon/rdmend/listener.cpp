// SPDX-License-Identifier: Apache-2.0
#include "rdmend/listener.hpp"

#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/c_handle.hpp"
#include "base/log.hpp"

namespace rdmend::daemon {
namespace {

constexpr int kBacklog = SOMAXCONN;

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{"the path of a unix socket may have at most 107 bytes", ENAMETOOLONG};
  path.copy(address.sun_path, path.size());
  return address;
}

bool somebody_listens(const sockaddr_un& address) {
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // EAGAIN: its backlog is full, so there is somebody.
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

Result<void> clear_way(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) return Error{"there is a file of that name that is no socket", EEXIST};
  if (somebody_listens(address)) return Error{"another process listens there", EADDRINUSE};
  if (unlink(path.c_str()) != 0) return errno_error("removing the old socket", errno);
  return {};
}

// What the kernel says of a socket that cannot be made is two words; who reads them has to know where, and what would help.
Error cannot_bind(const std::string& path, int code) {
  const auto slash = path.rfind('/');
  const auto directory = slash == std::string::npos ? std::string(".") : path.substr(0, std::max<std::size_t>(slash, 1));
  const auto user = "user " + std::to_string(geteuid());
  if (code == ENOENT) return Error{"there is no directory " + directory + ": make it, writable for " + user + ", or name another path", code};
  if (code == EACCES || code == EPERM)
    return Error{user + " may not make a socket in " + directory + ": let it write there, or name another path", code};
  if (code == EROFS)
    return Error{directory + " cannot be written: name a path below /run/rdmend, or, if it is the unit's ProtectSystem= that forbids it, "
                 "let ReadWritePaths= allow it", code};
  return errno_error("binding", code);
}

void grant(const std::string& path, const SocketAccess& access) {
  if (chmod(path.c_str(), access.mode) != 0)
    log::warning("http", "cannot set the mode of a socket", {{"path", path}, {"error", std::strerror(errno)}});
  if (access.group.empty()) return;
  const auto* group = getgrnam(access.group.c_str());
  if (group == nullptr)
    log::warning("http", "the control group does not exist: nobody but root can use the control socket", {{"group", access.group}});
  else if (chown(path.c_str(), static_cast<uid_t>(-1), group->gr_gid) != 0)
    log::warning("http", "cannot give a socket to its group: is rdmend's own user a member of it?", {{"path", path}, {"group", access.group}, {"error", std::strerror(errno)}});
}

}  // namespace

Result<Listener> Listener::open_unix(const std::string& path, const SocketAccess& access) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  if (const auto clear = clear_way(path, *address); !clear) return clear.error();
  Listener out;
  out.fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bind(out.fd_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) return cannot_bind(path, errno);
  out.path_ = path;
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) out.inode_ = info.st_ino;
  // Nobody can connect before listen(), so the file never stands open with a wider mode than it should have.
  grant(path, access);
  if (listen(out.fd_.get(), kBacklog) != 0) return errno_error("listening", errno);
  return out;
}

Result<Listener> Listener::open(const config::Listen& where, const SocketAccess& access) {
  if (!where.path.empty()) {
    auto local = open_unix(where.path, access);
    if (!local) return local.error().within("listening on " + where.text);
    return local;
  }
  // Numbers and "localhost" only: resolving a name could block the loop.
  const auto host = where.host == "localhost" ? std::string("127.0.0.1") : where.host;
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(where.port).c_str(), &hints, &found); code != 0)
    return Error{"listening on " + where.text + ": " + gai_strerror(code), EINVAL};
  const CHandle<addrinfo, freeaddrinfo> address(found);
  Listener out;
  out.fd_.reset(socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.fd_) return errno_error("listening on " + where.text, errno);
  const int on = 1;
  const int off = 0;
  setsockopt(out.fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->ai_family == AF_INET6) setsockopt(out.fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(out.fd_.get(), address->ai_addr, address->ai_addrlen) != 0 || listen(out.fd_.get(), kBacklog) != 0)
    return errno_error("listening on " + where.text, errno);
  return out;
}

Result<Listener> Listener::adopt(int fd, const config::Listen& where) {
  Listener out;
  out.fd_.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!out.fd_ || fcntl(out.fd_.get(), F_SETFL, O_NONBLOCK) != 0) return errno_error("listening on " + where.text, errno);
  out.path_ = where.path;  // no inode: the file is never removed
  return out;
}

UniqueFd Listener::accept() const { return UniqueFd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)); }

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  remove_file();
  fd_ = std::move(other.fd_);
  path_ = std::exchange(other.path_, {});
  inode_ = other.inode_;
  return *this;
}

Listener::~Listener() { remove_file(); }

void Listener::remove_file() {
  struct stat info {};
  // fd_ is gone from a listener that was moved from: its file belongs to the other one.
  if (!fd_ || path_.empty() || lstat(path_.c_str(), &info) != 0 || info.st_ino != inode_) return;
  unlink(path_.c_str());
}

std::uint16_t Listener::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace rdmend::daemon
