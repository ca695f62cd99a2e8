// SPDX-License-Identifier: Apache-2.0
#include "sources/nldev.hpp"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <random>

#include "sources/hw_counters.hpp"

using namespace rdmend;
using namespace rdmend::sources;

namespace {

// A message as the kernel makes it.
class Message {
 public:
  explicit Message(int command, std::uint16_t flags = 0, std::uint32_t sequence = 7) {
    header_ = mnl_nlmsg_put_header(buffer_.data());
    header_->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header_->nlmsg_flags = flags;
    header_->nlmsg_seq = sequence;
  }
  static Message done(int type, std::int32_t code, std::uint32_t sequence = 7) {
    Message message(0, NLM_F_MULTI, sequence);
    message.header_->nlmsg_type = static_cast<std::uint16_t>(type);
    std::memcpy(mnl_nlmsg_put_extra_header(message.header_, sizeof code), &code, sizeof code);
    return message;
  }
  Message(Message&& other) noexcept : buffer_(std::move(other.buffer_)), header_(reinterpret_cast<nlmsghdr*>(buffer_.data())) {}
  Message& u8(int type, std::uint8_t value) { return mnl_attr_put_u8(header_, static_cast<std::uint16_t>(type), value), *this; }
  Message& u32(int type, std::uint32_t value) { return mnl_attr_put_u32(header_, static_cast<std::uint16_t>(type), value), *this; }
  Message& u64(int type, std::uint64_t value) { return mnl_attr_put_u64(header_, static_cast<std::uint16_t>(type), value), *this; }
  Message& text(int type, const char* value) { return mnl_attr_put_strz(header_, static_cast<std::uint16_t>(type), value), *this; }
  Message& data(int type, const void* bytes, std::size_t size) {
    return mnl_attr_put(header_, static_cast<std::uint16_t>(type), size, bytes), *this;
  }
  template <class Fill>
  Message& nest(int type, Fill fill) {
    nlattr* const start = mnl_attr_nest_start(header_, static_cast<std::uint16_t>(type));
    fill(*this);
    mnl_attr_nest_end(header_, start);
    return *this;
  }
  [[nodiscard]] std::vector<std::byte> bytes() const { return {buffer_.begin(), buffer_.begin() + header_->nlmsg_len}; }
  [[nodiscard]] std::vector<std::byte> payload() const { return {buffer_.begin() + sizeof(nlmsghdr), buffer_.begin() + header_->nlmsg_len}; }

 private:
  std::vector<std::byte> buffer_ = std::vector<std::byte>(65536);
  nlmsghdr* header_;
};

Message device_message() {
  Message message(RDMA_NLDEV_CMD_GET);
  message.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 3).text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0").u32(RDMA_NLDEV_ATTR_PORT_INDEX, 2);
  message.text(RDMA_NLDEV_ATTR_FW_VERSION, "28.39.1002").u64(RDMA_NLDEV_ATTR_NODE_GUID, 0xb8cef60300001000ULL);
  return message;
}

Message counters_message() {
  Message message(RDMA_NLDEV_CMD_STAT_GET);
  message.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0).u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
  message.nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [](Message& table) {
    for (const auto& [name, value] : {std::pair("sent_pkts", 10ULL), std::pair("Nak Sequence Error", ~0ULL)})
      table.nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, [name = name, value = value](Message& entry) {
        entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name).u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
      });
  });
  return message;
}

Message qps_message() {
  Message message(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_MULTI);
  message.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 5).text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe1");
  message.nest(RDMA_NLDEV_ATTR_RES_QP, [](Message& table) {
    table.nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, [](Message& qp) {
      qp.u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1).u32(RDMA_NLDEV_ATTR_RES_LQPN, 17).u32(RDMA_NLDEV_ATTR_RES_RQPN, 18).u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, 100);
      qp.u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, 200).u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, 0).u8(RDMA_NLDEV_ATTR_RES_TYPE, 2).u8(RDMA_NLDEV_ATTR_RES_STATE, 3);
      qp.u32(RDMA_NLDEV_ATTR_RES_PID, 812).u32(RDMA_NLDEV_ATTR_RES_PDN, 4);
    });
    table.nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, [](Message& qp) {
      qp.u32(RDMA_NLDEV_ATTR_RES_LQPN, 1).u8(RDMA_NLDEV_ATTR_RES_TYPE, 1).u8(RDMA_NLDEV_ATTR_RES_STATE, 3).text(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
    });
    table.nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, [](Message& qp) { qp.u8(RDMA_NLDEV_ATTR_RES_TYPE, 1); });  // without number: nobody's
  });
  return message;
}

Result<void> ignore(nldev::Payload) { return {}; }

}  // namespace

TEST_CASE("a device is told by index, name, firmware and GUID") {
  const auto device = nldev::decode_device(device_message().payload());
  REQUIRE(device);
  CHECK(device->index == 3);
  CHECK(device->name == "mlx5_0");
  CHECK(device->ports == 2);
  CHECK(device->firmware == "28.39.1002");
  CHECK(device->node_guid == "b8ce:f603:0000:1000");
}

TEST_CASE("a device without identity, or with a name that would leave its directory, is none") {
  CHECK(nldev::decode_device({}).error().message == "rdma netlink: a device without index or name");
  CHECK_FALSE(nldev::decode_device(Message(RDMA_NLDEV_CMD_GET).u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1).payload()));
  for (const char* name : {"../x", "..", ".", "a/b", ""})
    CHECK_FALSE(nldev::decode_device(Message(RDMA_NLDEV_CMD_GET).u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1).text(RDMA_NLDEV_ATTR_DEV_NAME, name).payload()));
  CHECK_FALSE(nldev::decode_device(Message(RDMA_NLDEV_CMD_GET).u8(RDMA_NLDEV_ATTR_DEV_INDEX, 1).text(RDMA_NLDEV_ATTR_DEV_NAME, "x").payload()));
}

TEST_CASE("counters are name and value pairs") {
  const auto counters = nldev::decode_counters(counters_message().payload());
  REQUIRE(counters);
  CHECK(*counters == nldev::Counters{{"sent_pkts", 10}, {"Nak Sequence Error", ~0ULL}});
  CHECK_FALSE(nldev::decode_counters(device_message().payload()));
}

TEST_CASE("the number of counters taken from one message is bounded") {
  Message message(RDMA_NLDEV_CMD_STAT_GET);
  message.nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [](Message& table) {
    for (int i = 0; i < 2000; ++i)
      table.nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, [](Message& entry) {
        entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "n").u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 1);
      });
  });
  CHECK(nldev::decode_counters(message.payload())->size() <= nldev::kMostCounters);
}

TEST_CASE("queue pairs of a dump carry their device; what lacks a number is left out") {
  const auto qps = nldev::decode_qps(qps_message().payload());
  REQUIRE(qps);
  REQUIRE(qps->size() == 2);
  const QpInfo& user = qps->front();
  CHECK(user.device == "rxe1");
  CHECK(user.device_index == 5);
  CHECK(user.port == 1);
  CHECK(user.qpn == 17);
  CHECK(user.remote_qpn == 18U);
  CHECK(user.rq_psn == 100U);
  CHECK(user.sq_psn == 200U);
  CHECK(user.pid == 812);
  CHECK(qp_state_name(user.state) == "RTS");
  CHECK(qp_type_name(user.type) == "RC");
  const QpInfo& kernel = qps->back();
  CHECK(kernel.kernel_owner == "ib_core");
  CHECK(kernel.pid == 0);
  CHECK_FALSE(kernel.remote_qpn);
}

TEST_CASE("a single queue pair stands at the top of its message") {
  Message message(RDMA_NLDEV_CMD_RES_QP_GET);
  message.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 5).text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe1").u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1).u32(RDMA_NLDEV_ATTR_RES_LQPN, 17);
  message.u8(RDMA_NLDEV_ATTR_RES_TYPE, 2).u8(RDMA_NLDEV_ATTR_RES_STATE, 6);
  const auto qps = nldev::decode_qps(message.payload());
  REQUIRE(qps);
  REQUIRE(qps->size() == 1);
  CHECK(qps->front().qpn == 17);
  CHECK(qps->front().state == 6);
}

TEST_CASE("the peers of rdma_cm's connections are told; listeners and what is cut short are left out") {
  sockaddr_storage v4{};
  sockaddr_storage v6{};
  sockaddr_storage ib{};
  const auto put = [](sockaddr_storage& to, sa_family_t family, std::size_t at, std::vector<std::uint8_t> bytes) {
    to.ss_family = family;
    std::memcpy(reinterpret_cast<char*>(&to) + at, bytes.data(), bytes.size());
  };
  put(v4, AF_INET, 4, {10, 0, 0, 2});
  put(v6, AF_INET6, 8, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
  put(ib, 27, 8, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0, 0, 1});  // AF_IB
  Message message(RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_MULTI);
  const auto entry = [&](Message& table, std::uint32_t qpn, const sockaddr_storage* to, std::size_t size = sizeof(sockaddr_storage), std::uint8_t state = 5) {
    table.nest(RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, [&](Message& one) {
      one.u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1).u8(RDMA_NLDEV_ATTR_RES_STATE, state);
      if (qpn != 0) one.u32(RDMA_NLDEV_ATTR_RES_LQPN, qpn);
      if (to != nullptr) one.data(RDMA_NLDEV_ATTR_RES_DST_ADDR, to, size);
    });
  };
  message.u32(RDMA_NLDEV_ATTR_DEV_INDEX, 5).nest(RDMA_NLDEV_ATTR_RES_CM_ID, [&](Message& table) {
    entry(table, 17, &v4);
    entry(table, 18, &v6);
    entry(table, 19, &ib);
    entry(table, 0, &v4);
    entry(table, 20, nullptr);
    entry(table, 21, &v6, 12);
    entry(table, 22, &v4, 1);
    entry(table, 23, &v4, sizeof v4, 6);  // disconnected: the number may be another QP's by now
  });
  const auto peers = nldev::decode_peers(message.payload());
  REQUIRE(peers);
  REQUIRE(peers->size() == 3);
  CHECK(peers->at(0).qpn == 17);
  CHECK(peers->at(0).address == "10.0.0.2");
  CHECK(peers->at(1).address == "fd00::2");
  CHECK(peers->at(2).address == "fe80::2:c903:0:1");
}

TEST_CASE("character device, port and network namespaces") {
  const auto chardev = nldev::decode_chardev(
      Message(RDMA_NLDEV_CMD_GET_CHARDEV).text(RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs0").u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 14).payload());
  CHECK(chardev->name == "uverbs0");
  CHECK(chardev->driver_id == 14U);
  CHECK_FALSE(nldev::decode_chardev(Message(RDMA_NLDEV_CMD_GET_CHARDEV).text(RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs1").payload())->driver_id);
  const auto port = nldev::decode_port(
      Message(RDMA_NLDEV_CMD_PORT_GET).u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1).u8(RDMA_NLDEV_ATTR_PORT_STATE, 4).text(RDMA_NLDEV_ATTR_NDEV_NAME, "eth0").payload());
  CHECK(port->state == 4);
  CHECK(port->netdev == "eth0");
  CHECK_FALSE(nldev::decode_port({}));
  CHECK(nldev::decode_shared_netns(Message(RDMA_NLDEV_CMD_SYS_GET).u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0).payload()).value() == false);
  CHECK_FALSE(nldev::decode_shared_netns({}));
}

TEST_CASE("an answer ends with its only message, with DONE, or with an error that is told") {
  using nldev::Progress;
  CHECK(nldev::for_each_message(device_message().bytes(), 7, ignore).value() == Progress::done);
  CHECK(nldev::for_each_message(qps_message().bytes(), 7, ignore).value() == Progress::more);
  CHECK(nldev::for_each_message(Message::done(NLMSG_DONE, 0).bytes(), 7, ignore).value() == Progress::done);
  CHECK(nldev::for_each_message(Message::done(NLMSG_ERROR, -EMSGSIZE).bytes(), 7, ignore).error().code == EMSGSIZE);
  CHECK(nldev::for_each_message(Message::done(NLMSG_DONE, -EIO).bytes(), 7, ignore).error().code == EIO);
  CHECK(nldev::for_each_message(Message::done(NLMSG_ERROR, 123).bytes(), 7, ignore).error().code == EBADMSG);
  // What answers somebody else's question is not looked at.
  int visits = 0;
  const auto count = [&](nldev::Payload) -> Result<void> {
    ++visits;
    return {};
  };
  CHECK(nldev::for_each_message(device_message().bytes(), 8, count).value() == Progress::more);
  CHECK(nldev::for_each_message(Message::done(NLMSG_ERROR, -EIO).bytes(), 8, count).value() == Progress::more);
  CHECK(visits == 0);
}

TEST_CASE("netlink is given up for a port where its answer cannot hold the counters or there are none") {
  CHECK(netlink_is_no_way(EMSGSIZE));
  CHECK(netlink_is_no_way(EINVAL));
  CHECK_FALSE(netlink_is_no_way(EIO));
  CHECK_FALSE(netlink_is_no_way(ETIMEDOUT));
}

TEST_CASE("requests carry what they ask for") {
  const auto bytes = nldev::encode({.command = RDMA_NLDEV_CMD_STAT_GET, .device = 3, .port = 1}, 9);
  nlmsghdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  CHECK(header.nlmsg_type == ((5 << 10) | 17));
  CHECK(header.nlmsg_flags == NLM_F_REQUEST);
  CHECK(header.nlmsg_seq == 9);
  CHECK(header.nlmsg_len == bytes.size());
  CHECK(bytes.size() == sizeof header + 2 * 8);
}

TEST_CASE("messages cut short anywhere, or with any byte changed, neither crash nor grow a decoder") {
  std::mt19937 random(4711);  // NOLINT(cert-msc51-cpp): the same every time
  const auto decode_all = [](nldev::Payload payload) {
    (void)nldev::decode_device(payload);
    (void)nldev::decode_port(payload);
    (void)nldev::decode_chardev(payload);
    (void)nldev::decode_shared_netns(payload);
    if (const auto counters = nldev::decode_counters(payload)) CHECK(counters->size() <= payload.size() / 4);
    if (const auto peers = nldev::decode_peers(payload)) CHECK(peers->size() <= payload.size() / 4);
    if (const auto qps = nldev::decode_qps(payload)) CHECK(qps->size() <= payload.size() / 4 + 1);
  };
  for (const auto& message : {device_message().bytes(), counters_message().bytes(), qps_message().bytes()}) {
    for (std::size_t length = 0; length <= message.size(); ++length) {
      const std::vector<std::byte> cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(length));
      if (length >= sizeof(nlmsghdr)) decode_all(std::span(cut).subspan(sizeof(nlmsghdr)));
      (void)nldev::for_each_message(cut, 7, ignore);
    }
    for (int i = 0; i < 5000; ++i) {
      auto changed = message;
      for (int flips = 0; flips < 3; ++flips) changed[random() % changed.size()] = std::byte(random() & 0xffU);
      decode_all(std::span(changed).subspan(sizeof(nlmsghdr)));
      (void)nldev::for_each_message(changed, 7, ignore);
    }
  }
}
