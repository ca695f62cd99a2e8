// SPDX-License-Identifier: Apache-2.0
// What netlink sockets bring, of all families: RDMA's answers, DCB's, neighbours, and the kernel's uevents.
#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "fuzz/entry.hpp"
#include "sources/netdev_calls.hpp"
#include "sources/nldev.hpp"
#include "sources/rtneigh.hpp"
#include "sources/uevents.hpp"

using namespace rdmend;
using namespace rdmend::sources;

namespace {

constexpr std::uint32_t kSequence = 7;  // of the request that the corpus answers
constexpr std::size_t kHeader = 4;      // bytes of an attribute, at least

bool is_text(std::string_view text) { return text.size() <= nldev::kMostText && text.find('\0') == std::string_view::npos; }

// A name becomes a path below a directory.
bool is_file_name(std::string_view name) { return is_text(name) && !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos; }

void decode(nldev::Payload payload) {
  if (const auto device = nldev::decode_device(payload)) {
    fuzz::demand(is_file_name(device->name), "a device's name is that of a directory");
    fuzz::demand(is_text(device->firmware) && (device->node_guid.empty() || device->node_guid.size() == 19), "what is said of a device is short");
  }
  if (const auto port = nldev::decode_port(payload)) fuzz::demand(port->port > 0 && is_text(port->netdev), "a port has a number");
  if (const auto chardev = nldev::decode_chardev(payload)) fuzz::demand(is_text(chardev->name) && !chardev->name.empty(), "a character device has a name");
  if (const auto counters = nldev::decode_counters(payload)) {
    fuzz::demand(counters->size() <= std::min(nldev::kMostCounters, payload.size() / (3 * kHeader)), "there are no more counters than bytes for them");
    for (const auto& [name, value] : *counters) fuzz::demand(is_text(name) && !name.empty(), "a counter has a name");
  }
  if (const auto qps = nldev::decode_qps(payload)) {
    fuzz::demand(qps->size() <= 1 + payload.size() / (2 * kHeader), "there are no more QPs than bytes for them");
    for (const auto& qp : *qps) fuzz::demand(is_text(qp.device) && is_text(qp.kernel_owner), "names are short");
  }
  if (const auto peers = nldev::decode_peers(payload))
    for (const auto& peer : *peers) {
      in6_addr v6{};
      fuzz::demand(peer.qpn != 0 && (inet_pton(AF_INET, peer.address.c_str(), &v6) == 1 || inet_pton(AF_INET6, peer.address.c_str(), &v6) == 1),
                   "a peer has an address: " + peer.address);
    }
  (void)nldev::decode_shared_netns(payload);
}

void hear(std::span<const std::byte> message) {
  const auto event = parse_uevent(message);
  if (!event) return;
  fuzz::demand(!event->action.empty() && !event->subsystem.empty(), "an event says what happened to what");
  for (const auto& name : {event->name, event->old_name}) fuzz::demand(name.find('/') == std::string::npos, "an event's name is the last of its path");
  fuzz::demand(event->action.size() + event->subsystem.size() + event->name.size() + event->old_name.size() <= message.size(), "an event does not grow");
}

void meet(std::span<const std::byte> datagram, std::optional<std::uint32_t> sequence) {
  std::size_t met = 0;
  const auto progress = rtneigh::for_each(
      datagram, sequence, [](std::uint32_t index) { return index != 0; },
      [&](const rtneigh::Change& change) {
        ++met;
        in6_addr v6{};
        const auto& address = change.entry.address;
        fuzz::demand(inet_pton(AF_INET, address.c_str(), &v6) == 1 || inet_pton(AF_INET6, address.c_str(), &v6) == 1, "a neighbour has an address: " + address);
        fuzz::demand(change.entry.link_address.size() <= std::size_t{32} * 3, "a link address is short");
        fuzz::demand(change.entry.link_address.empty() || neighbour_resolved(change.entry.state), "who is not resolved has no link address");
      });
  fuzz::demand(met <= datagram.size() / 16, "there are no more neighbours than headers");
  if (!progress) fuzz::demand(progress.error().code > 0 && progress.error().code < 4096, "an error is one of the kernel's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span datagram{reinterpret_cast<const std::byte*>(data), size};
  decode(datagram);
  meet(datagram, std::nullopt);
  meet(datagram, kSequence);
  std::size_t visits = 0;
  const auto progress = nldev::for_each_message(datagram, kSequence, [&](nldev::Payload payload) -> Result<void> {
    ++visits;
    decode(payload);
    return {};
  });
  fuzz::demand(visits <= size / 16, "there are no more messages than headers");
  if (!progress) fuzz::demand(progress.error().code > 0 && progress.error().code < 4096 && !progress.error().message.empty(), "an error is one of the kernel's");
  if (const auto pfc = dcb::decode_answer(datagram, kSequence); !pfc) fuzz::demand(pfc.error().code > 0 && pfc.error().code < 4096, "an error is one of the kernel's");
  hear(datagram);
  return 0;
}
