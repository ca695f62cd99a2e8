// SPDX-License-Identifier: Apache-2.0
#include "sources/netdev_calls.hpp"

#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.hpp"

namespace rdmend::sources {
namespace {

constexpr timeval kNetdevSilence{2, 0};  // an answer is in the queue when send() returns

class KernelCalls : public NetdevCalls {
 public:
  Result<std::vector<std::string>> statistics_names(const std::string& netdev) override;
  Result<std::vector<std::uint64_t>> statistics(const std::string& netdev) override;
  Result<PfcCounts> pfc(const std::string& netdev) override;

 private:
  int ask_ethtool(const std::string& netdev, void* command);
  int count(const std::string& netdev, std::uint32_t& out);
  UniqueFd socket_, netlink_;
  std::uint32_t sequence_ = 0;
};

// 0 or an errno.
int KernelCalls::ask_ethtool(const std::string& netdev, void* command) {
  if (!socket_) socket_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_) return errno;
  ifreq request{};
  if (netdev.size() >= sizeof request.ifr_name) return ENAMETOOLONG;
  netdev.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = static_cast<char*>(command);
  return ioctl(socket_.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

int KernelCalls::count(const std::string& netdev, std::uint32_t& out) {
  alignas(ethtool_sset_info) std::byte buffer[sizeof(ethtool_sset_info) + sizeof(std::uint32_t)] = {};
  auto* const info = reinterpret_cast<ethtool_sset_info*>(buffer);
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ULL << ETH_SS_STATS;
  if (const int error = ask_ethtool(netdev, info); error != 0) return error;
  if (info->sset_mask == 0) return EOPNOTSUPP;
  std::memcpy(&out, buffer + sizeof(ethtool_sset_info), sizeof out);
  return out > kMostStatistics ? E2BIG : 0;
}

// The kernel copies as many as it has, not as many as were asked for, and there may be more by now: room for the most.
Result<std::vector<std::string>> KernelCalls::statistics_names(const std::string& netdev) {
  std::uint32_t wanted = 0;
  if (const int error = count(netdev, wanted); error != 0) return errno_error("statistics of " + netdev, error);
  std::vector<std::uint64_t> buffer((sizeof(ethtool_gstrings) + (2 * kMostStatistics * ETH_GSTRING_LEN)) / sizeof(std::uint64_t));
  auto* const strings = reinterpret_cast<ethtool_gstrings*>(buffer.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = wanted;
  if (const int error = ask_ethtool(netdev, strings); error != 0) return errno_error("names of the statistics of " + netdev, error);
  std::vector<std::string> names;
  const auto* const first = reinterpret_cast<const char*>(strings + 1);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(strings->len, kMostStatistics); ++i)
    names.emplace_back(first + (std::size_t{i} * ETH_GSTRING_LEN), strnlen(first + (std::size_t{i} * ETH_GSTRING_LEN), ETH_GSTRING_LEN));
  return names;
}

Result<std::vector<std::uint64_t>> KernelCalls::statistics(const std::string& netdev) {
  std::uint32_t wanted = 0;
  if (const int error = count(netdev, wanted); error != 0) return errno_error("statistics of " + netdev, error);
  std::vector<std::uint64_t> buffer(1 + (2 * kMostStatistics));
  auto* const stats = reinterpret_cast<ethtool_stats*>(buffer.data());
  stats->cmd = ETHTOOL_GSTATS;
  stats->n_stats = wanted;
  if (const int error = ask_ethtool(netdev, stats); error != 0) return errno_error("statistics of " + netdev, error);
  const auto got = std::min<std::size_t>(stats->n_stats, kMostStatistics);
  return std::vector<std::uint64_t>(buffer.begin() + 1, buffer.begin() + 1 + static_cast<std::ptrdiff_t>(got));
}

Result<PfcCounts> KernelCalls::pfc(const std::string& netdev) {
  if (!netlink_) {
    netlink_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!netlink_) return errno_error("opening route netlink", errno);
    setsockopt(netlink_.get(), SOL_SOCKET, SO_RCVTIMEO, &kNetdevSilence, sizeof kNetdevSilence);
  }
  const auto request = dcb::encode_request(netdev, ++sequence_);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(netlink_.get(), request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return errno_error("DCB of " + netdev, errno);
  std::vector<std::byte> answer(32'768);
  const auto length = recv(netlink_.get(), answer.data(), answer.size(), 0);
  if (length < 0) {
    const int error = errno == EAGAIN ? ETIMEDOUT : errno;
    netlink_.reset();  // its answer may come yet, and would be taken for the next one
    return errno_error("DCB of " + netdev, error);
  }
  return dcb::decode_answer(std::span(answer).first(static_cast<std::size_t>(length)), sequence_);
}

// The attribute of that type among those in `bytes`; empty when there is none.
std::span<const std::byte> attribute(std::span<const std::byte> bytes, int type) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > bytes.size()) return {};
    if ((header.nla_type & NLA_TYPE_MASK) == type) return bytes.subspan(sizeof header, header.nla_len - sizeof header);
    bytes = bytes.subspan(std::min<std::size_t>(MNL_ALIGN(header.nla_len), bytes.size()));
  }
  return {};
}

}  // namespace

std::unique_ptr<NetdevCalls> kernel_netdev_calls() { return std::make_unique<KernelCalls>(); }

namespace dcb {

std::vector<std::byte> encode_request(const std::string& netdev, std::uint32_t sequence) {
  alignas(nlmsghdr) std::byte buffer[256] = {};
  nlmsghdr* const header = mnl_nlmsg_put_header(buffer);
  header->nlmsg_type = RTM_GETDCB;
  header->nlmsg_flags = NLM_F_REQUEST;
  header->nlmsg_seq = sequence;
  auto* const message = static_cast<dcbmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(dcbmsg)));
  message->cmd = DCB_CMD_IEEE_GET;
  mnl_attr_put_strz(header, DCB_ATTR_IFNAME, netdev.substr(0, IFNAMSIZ - 1).c_str());
  return {buffer, buffer + header->nlmsg_len};
}

Result<PfcCounts> decode_answer(std::span<const std::byte> datagram, std::uint32_t sequence) {
  const Error malformed{"DCB: the kernel's answer cannot be read", EBADMSG};
  nlmsghdr header{};
  if (datagram.size() < sizeof header) return malformed;
  std::memcpy(&header, datagram.data(), sizeof header);
  if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size() || header.nlmsg_seq != sequence) return malformed;
  const auto payload = datagram.subspan(sizeof header, header.nlmsg_len - sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR) {
    std::int32_t code = 0;
    if (payload.size() >= sizeof code) std::memcpy(&code, payload.data(), sizeof code);
    return errno_error("DCB", code < 0 && code > -4096 ? -code : EBADMSG);
  }
  if (payload.size() < sizeof(dcbmsg)) return malformed;
  const auto pfc = attribute(attribute(payload.subspan(sizeof(dcbmsg)), DCB_ATTR_IEEE), DCB_ATTR_IEEE_PFC);
  if (pfc.empty()) return errno_error("DCB: no priority flow control", EOPNOTSUPP);
  ieee_pfc counts{};
  if (pfc.size() != sizeof counts) return malformed;
  std::memcpy(&counts, pfc.data(), sizeof counts);
  PfcCounts out;
  std::copy(std::begin(counts.requests), std::end(counts.requests), out.requests.begin());
  std::copy(std::begin(counts.indications), std::end(counts.indications), out.indications.begin());
  return out;
}

}  // namespace dcb

}  // namespace rdmend::sources
