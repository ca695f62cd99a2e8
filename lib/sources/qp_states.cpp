// SPDX-License-Identifier: Apache-2.0
#include "sources/qp_states.hpp"

#include <fcntl.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "sources/sysfs.hpp"

namespace rdmend::sources {
namespace {

constexpr int kMostRepeats = 3;  // of dumps that were disturbed

std::uint32_t process_of(int proc, std::uint32_t thread) {
  const auto status = read_file(proc, std::to_string(thread) + "/status");
  if (!status) return 0;
  for (const auto line : split(*status, '\n'))
    if (line.starts_with("Tgid:")) return static_cast<std::uint32_t>(parse_number(trim(line.substr(5))).value_or(0));
  return 0;
}

}  // namespace

QpReader::QpReader(std::uint32_t device_index, std::string device, std::string proc, std::size_t cap)
    : index_(device_index), device_(std::move(device)), proc_(std::move(proc)), cap_(cap) {}

int QpReader::dump(QpReading& into) {
  if (!socket_) {
    auto opened = NlSocket::open();
    if (!opened) return opened.error().code;
    socket_.emplace(std::move(*opened));
  }
  const nldev::Request request{.command = RDMA_NLDEV_CMD_RES_QP_GET, .dump = true, .device = index_};
  const auto asked = socket_->ask(request, [&](nldev::Payload payload) -> Result<void> {
    auto qps = nldev::decode_qps(payload);
    if (!qps) return {};
    for (auto& qp : *qps) {
      // Every further QP costs a firmware command: the dump is broken off, not read to its end.
      if (into.qps.size() >= cap_) return Error{"the cap on QPs was reached", E2BIG};
      into.qps.push_back(std::move(qp));
    }
    return {};
  });
  if (asked) return 0;
  socket_.reset();  // an unfinished dump stays with its socket
  return asked.error().code;
}

void QpReader::ask_one_by_one(QpReading& into) {
  std::set<std::uint32_t> missing = known_;
  for (const auto& qp : into.qps) missing.erase(qp.qpn);
  auto socket = NlSocket::open();
  if (!socket) return;
  for (const auto qpn : missing) {
    if (into.qps.size() >= cap_) return;
    const auto got = socket->get<std::vector<QpInfo>>({.command = RDMA_NLDEV_CMD_RES_QP_GET, .device = index_, .qpn = qpn}, nldev::decode_qps);
    if (got && got->size() == 1) into.qps.push_back(got->front());
  }
}

void QpReader::name_owners(QpReading& reading) const {
  const auto proc = open_dir(AT_FDCWD, proc_);
  std::map<std::uint32_t, std::pair<std::uint32_t, std::string>> known;  // of a thread: its process and that one's name
  for (auto& qp : reading.qps) {
    qp.device = device_;
    qp.device_index = index_;
    auto found = known.find(qp.pid);
    if (found == known.end()) {
      std::pair<std::uint32_t, std::string> owner{0, ""};
      if (proc && qp.pid != 0) {
        owner.first = process_of(proc->get(), qp.pid);
        if (owner.first != 0)
          if (const auto comm = read_file(proc->get(), std::to_string(owner.first) + "/comm")) owner.second = printable(*comm, 64);
      }
      found = known.emplace(qp.pid, std::move(owner)).first;
    }
    qp.comm = found->second.second;
    reading.owners.push_back(found->second.first);
  }
}

// rdma_cm knows whom it connected; whoever connects otherwise (NCCL, perftest without -R) tells the kernel no address.
void QpReader::name_peers(QpReading& reading) {
  if (!peers_told_ || reading.qps.empty()) return;
  auto socket = NlSocket::open();
  if (!socket) return;
  std::map<std::uint32_t, std::string> peers;
  const nldev::Request request{.command = RDMA_NLDEV_CMD_RES_CM_ID_GET, .dump = true, .device = index_};
  const auto asked = socket->ask(request, [&](nldev::Payload payload) -> Result<void> {
    auto some = nldev::decode_peers(payload);
    if (!some) return {};
    for (auto& peer : *some) {
      if (peers.size() >= cap_) return Error{"the cap on QPs was reached", E2BIG};
      peers[peer.qpn] = std::move(peer.address);
    }
    return {};
  });
  if (!asked && (asked.error().code == EOPNOTSUPP || asked.error().code == EINVAL)) peers_told_ = false;
  for (auto& qp : reading.qps)
    if (const auto known = peers.find(qp.qpn); known != peers.end()) qp.peer = known->second;
}

QpReading QpReader::read() {
  QpReading reading;
  for (int i = 0; i < kMostRepeats; ++i) {
    reading.qps.clear();
    reading.error = dump(reading);
    if (reading.error != EINTR && reading.error != EBUSY && reading.error != ENOBUFS) break;
  }
  if (reading.error == E2BIG) {
    reading.truncated = true;
    reading.error = 0;
  } else if (reading.error != 0 && reading.error != ENODEV) {
    ask_one_by_one(reading);
    reading.truncated = true;
  }
  known_.clear();
  for (const auto& qp : reading.qps) known_.insert(qp.qpn);
  name_owners(reading);
  name_peers(reading);
  return reading;
}

std::vector<Sample> QpSeries::step(const QpReading& reading, Timestamp at, milliseconds interval) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  counts[{"RC", "ERR"}] = 0;  // the one that rules ask for exists before it is needed
  for (const auto& pair : seen_) counts[pair] = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Timestamp> in_error;
  std::vector<Sample> samples;
  samples.reserve(reading.qps.size() + 8);
  labels_.rewind();
  std::size_t stuck = 0;
  for (std::size_t i = 0; i < reading.qps.size(); ++i) {
    const QpInfo& qp = reading.qps[i];
    const auto type = qp_type_name(qp.type);
    const auto state = qp_state_name(qp.state);
    ++counts[{type, state}];
    if (qp.state == static_cast<std::uint8_t>(QpState::err)) {
      const auto before = error_since_.find({qp.qpn, qp.pid});
      const auto since = before == error_since_.end() ? at : before->second;
      in_error[{qp.qpn, qp.pid}] = since;
      // A QP of a process that is being torn down is in ERR for a moment only; one that a dump still finds has a living owner.
      if (since != at && at - since >= interval / 2) ++stuck;
    }
    const auto port = qp.port == 0 ? std::string() : std::to_string(qp.port);
    const auto pid = reading.owners[i] != 0 ? reading.owners[i] : qp.pid;
    const auto& comm = qp.comm.empty() ? qp.kernel_owner : qp.comm;
    samples.push_back({labels_.next({{kMetricName, "rdma_qp_info"},
                                     {"comm", comm},
                                     {"device", device_},
                                     {"peer", qp.peer},
                                     {"pid", pid == 0 ? "" : std::to_string(pid)},
                                     {"port", port},
                                     {"qpn", std::to_string(qp.qpn)},
                                     {"state", state},
                                     {"type", type}}),
                       1});
  }
  error_since_ = std::move(in_error);
  for (const auto& [pair, count] : counts) {
    seen_.insert(pair);
    samples.push_back({Labels{{"__name__", "rdma_qps"}, {"device", device_}, {"type", pair.first}, {"state", pair.second}}, static_cast<double>(count)});
  }
  samples.push_back({Labels{{"__name__", "rdma_qps_stuck_in_error"}, {"device", device_}}, static_cast<double>(stuck)});
  samples.push_back({Labels{{"__name__", "rdma_qps_truncated"}, {"device", device_}}, reading.truncated ? 1.0 : 0.0});
  return samples;
}

}  // namespace rdmend::sources
