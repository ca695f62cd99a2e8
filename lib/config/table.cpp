// SPDX-License-Identifier: Apache-2.0
#include "config/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include "base/text.hpp"
#include "config/values.hpp"

namespace rdmend::config {
namespace {

using yaml::Node;
using yaml::Reader;
using std::chrono::hours;
using std::chrono::minutes;

constexpr std::array<std::string_view, 2> kModes{"observe", "act"};
constexpr std::array<std::string_view, 4> kLevels{"error", "warning", "info", "debug"};
constexpr std::array<std::string_view, 5> kRemedies{"raise_min_rnr_timer", "refresh_neighbour", "run_hook", "restart_unit", "advise"};

std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of("[]{}:#,*&!|>'\"%@` ") == std::string::npos;
  return plain ? text : fmt::format("\"{}\"", text);
}
std::string list(const std::vector<std::string>& items) {
  std::vector<std::string> out;
  std::transform(items.begin(), items.end(), std::back_inserter(out), quoted);
  return fmt::format("[{}]", fmt::join(out, ", "));
}
std::string size(std::size_t bytes) {
  for (const auto& [unit, shift] : {std::pair{"GiB", 30U}, {"MiB", 20U}, {"KiB", 10U}})
    if (bytes != 0 && bytes % (std::size_t{1} << shift) == 0) return fmt::format("{}{}", bytes >> shift, unit);
  return std::to_string(bytes);
}
std::string yes(bool value) { return value ? "true" : "false"; }
std::string listens(const Config& c) {
  std::vector<std::string> out;
  for (const auto& one : c.listen) out.push_back(one.text);
  return list(out);
}

void read_listens(Reader& reader, const Node& node, std::string_view path, Config& c) {
  c.listen.clear();
  reader.list(node, path, [&](const Node& item) {
    const auto one = read_listen(reader, item);
    if (!one) return;
    const auto same = [&](const Listen& other) { return other.host == one->host && other.port == one->port && other.path == one->path; };
    if (one->port != 0 || !one->path.empty())
      if (std::any_of(c.listen.begin(), c.listen.end(), same)) return reader.error(item.at, fmt::format("listen: '{}' is given twice", one->text));
    c.listen.push_back(*one);
  });
}

void read_alertmanagers(Reader& reader, const Node& node, std::string_view path, Config& c) {
  c.alertmanagers.clear();
  reader.list(node, path, [&](const Node& item) {
    auto one = read_alertmanager(reader, item);
    if (!one) return;
    const auto same = [&](const Alertmanager& other) { return !one->url.empty() && other.url == one->url; };
    if (std::any_of(c.alertmanagers.begin(), c.alertmanagers.end(), same))
      return reader.error(item.at, fmt::format("alertmanagers: '{}' is given twice", one->url));
    c.alertmanagers.push_back(std::move(*one));
  });
}

void read_allow(Reader& reader, const Node& node, std::string_view path, Config& c) {
  c.remedies.allow.clear();
  reader.list(node, path, [&](const Node& item) {
    if (auto kind = read_word(reader, item, path, kRemedies)) c.remedies.allow.push_back(std::move(*kind));
  });
}

// What most rows are: a duration, a count or a switch in the struct, with its range.
#define RDMEND_DURATION(path, member, least, most, help)                                                     \
  Field {                                                                                                    \
    path, "duration", help,                                                                                  \
        [](Reader& r, const Node& n, std::string_view p, Config& c) {                                        \
          if (const auto value = r.duration(n, p, least, most)) c.member = *value;                           \
        },                                                                                                   \
        [](const Config& c) { return format_duration(c.member); }                                            \
  }
#define RDMEND_COUNT(path, member, least, most, help)                                                        \
  Field {                                                                                                    \
    path, "whole number", help,                                                                              \
        [](Reader& r, const Node& n, std::string_view p, Config& c) {                                        \
          if (const auto value = r.count(n, p, least, most)) c.member = *value;                              \
        },                                                                                                   \
        [](const Config& c) { return std::to_string(c.member); }                                             \
  }
#define RDMEND_PATH(path, member, help)                                                                      \
  Field {                                                                                                    \
    path, "absolute path", help,                                                                             \
        [](Reader& r, const Node& n, std::string_view p, Config& c) {                                        \
          if (auto value = read_absolute_path(r, n, p)) c.member = std::move(*value);                        \
        },                                                                                                   \
        [](const Config& c) { return quoted(c.member); }                                                     \
  }
#define RDMEND_REGEXES(path, member, help)                                                                   \
  Field {                                                                                                    \
    path, "list of regular expressions", help,                                                               \
        [](Reader& r, const Node& n, std::string_view p, Config& c) {                                        \
          if (auto value = read_regexes(r, n, p)) c.member = std::move(*value);                              \
        },                                                                                                   \
        [](const Config& c) { return list(c.member); }                                                       \
  }

const Field kFields[] = {
    {"mode", "observe or act", "`observe` decides everything and does nothing; `act` lets the remedies of `remedies.allow` run.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (const auto word = read_word(r, n, p, kModes)) c.mode = *word == "act" ? Mode::act : Mode::observe;
     },
     [](const Config& c) { return std::string(c.mode == Mode::act ? "act" : "observe"); }},
    RDMEND_REGEXES("devices.include", devices.include, "Names of the RDMA devices to watch; each expression must match the whole name."),
    RDMEND_REGEXES("devices.exclude", devices.exclude, "Names to leave out, stronger than `include`."),
    RDMEND_REGEXES("raw_counters.include", raw_counters.include,
                   "Raw counters to tell (rdma_raw_total), by the driver's own names; each expression must match the whole name."),
    RDMEND_REGEXES("raw_counters.exclude", raw_counters.exclude,
                   "Names to leave out, stronger than `include`. What is left out is still read for the normalised series; rdma_raw_series_dropped counts it."),
    {"listen", "list of addresses or maps", "Where metrics and the read-only API are served: `[::]:9879` (IPv6 and IPv4), `127.0.0.1:9879`, `unix:/path`, or a map with `address` and what follows. Port 0 takes a free one. A socket that systemd hands over (rdmend.socket) is used for the entry that has its address.",
     read_listens, listens},
    {"listen[].address", "address", "As above; required in a map.", nullptr, [](const Config&) { return std::string(); }},
    {"listen[].tls", "map", "Serves HTTPS: `cert` and `key`, PEM files, read again by a reload. With `client_ca`, a PEM file too, clients must show a certificate that it has signed.", nullptr, [](const Config&) { return std::string(); }},
    {"listen[].basic_auth", "map", "Clients must give a password: `username`, and `password_file`, read again by a reload.", nullptr, [](const Config&) { return std::string(); }},
    RDMEND_PATH("control_socket", control_socket, "The socket of `rdmendctl`, and the only one that takes calls that change something."),
    {"control_group", "name of a group", "A group whose members may read on the control socket; rdmend's own user must be one of them. Empty for root alone.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (auto name = r.text(n, p)) c.control_group = std::move(*name);
     },
     [](const Config& c) { return quoted(c.control_group); }},
    RDMEND_PATH("state_directory", state_directory, "The journal, alert states and undo records; they survive a restart."),
    RDMEND_PATH("paths.sysfs", paths.sysfs, "Where sysfs is. Any other tree than the kernel's turns netlink, verbs, uevents and ethtool off: all comes from that tree, rescanned every 10 s."),
    RDMEND_PATH("paths.proc", paths.proc, "Where procfs is."),
    {"rule_files", "list of file patterns", "Rule files; `*`, `?` and `[...]` as in a shell. A relative one counts from this file's directory.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (auto value = read_globs(r, n, p)) c.rule_files = std::move(*value);
     },
     [](const Config& c) { return list(c.rule_files); }},
    {"alertmanagers", "list of maps", "Every one of them gets every alert, each on its own.", read_alertmanagers,
     [](const Config& c) {
       std::vector<std::string> urls;
       for (const auto& one : c.alertmanagers) urls.push_back(fmt::format("{{url: \"{}\", timeout: {}}}", one.url, format_duration(one.timeout)));
       return fmt::format("[{}]", fmt::join(urls, ", "));
     }},
    {"alertmanagers[].url", "URL", "Base URL, `http://alertmanager:9093`; required.", nullptr, [](const Config&) { return std::string(); }},
    {"alertmanagers[].timeout", "duration", "Of one request; 100ms to 5m.", nullptr, [](const Config&) { return format_duration(Alertmanager{}.timeout); }},
    {"alertmanagers[].basic_auth", "map", "`username`, and `password` or `password_file`.", nullptr, [](const Config&) { return std::string(); }},
    {"alertmanagers[].tls", "map", "`ca_file`, `cert_file` with `key_file`, `insecure_skip_verify`.", nullptr, [](const Config&) { return std::string(); }},
    {"external_labels", "map of labels", "Added to every alert that is sent. `instance` is the host's name unless it is given; give it as \"\" to leave it out.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) { c.external_labels = read_labels(r, n, p, c.external_labels); },
     [](const Config& c) {
       std::vector<std::string> out;
       for (const auto& [name, value] : c.external_labels) out.push_back(fmt::format("{}: {}", name, quoted(value)));
       return fmt::format("{{{}}}", fmt::join(out, ", "));
     }},
    {"external_url", "URL", "Where a person who reads an alert finds this daemon; empty for none.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (n.kind == Node::Kind::scalar && n.text.empty()) return c.external_url.clear();
       if (auto value = read_url(r, n, p)) c.external_url = std::move(*value);
     },
     [](const Config& c) { return quoted(c.external_url); }},
    RDMEND_DURATION("notifications.resend", notifications.resend, seconds{1}, hours{1}, "How often an alert that is still firing is sent again; 1s to 1h."),
    RDMEND_COUNT("notifications.queue", notifications.queue, 1, 1'000'000, "Alerts that wait for an Alertmanager at most; then the oldest is dropped and counted."),
    {"remedies.allow", "list of remedy kinds", "What `mode: act` may do: `raise_min_rnr_timer`, `refresh_neighbour`, `run_hook`, `restart_unit`, `advise`. Empty: nothing.", read_allow,
     [](const Config& c) { return list(c.remedies.allow); }},
    {"remedies.units", "list of unit names", "The systemd units that `restart_unit` may restart, each by its own name with its suffix. Empty: none.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (auto value = read_units(r, n, p)) c.remedies.units = std::move(*value);
     },
     [](const Config& c) { return list(c.remedies.units); }},
    RDMEND_COUNT("remedies.budget.qp.burst", remedies.qp.burst, 1, 1'000'000, "Actions on one queue pair at once."),
    RDMEND_DURATION("remedies.budget.qp.refill", remedies.qp.refill, milliseconds{1}, hours{24}, "One more each."),
    RDMEND_COUNT("remedies.budget.process.burst", remedies.process.burst, 1, 1'000'000, "Actions on the queue pairs of one process at once."),
    RDMEND_DURATION("remedies.budget.process.refill", remedies.process.refill, milliseconds{1}, hours{24}, "One more each."),
    RDMEND_COUNT("remedies.budget.host.burst", remedies.host.burst, 1, 1'000'000, "Actions on this host at once."),
    RDMEND_DURATION("remedies.budget.host.refill", remedies.host.refill, milliseconds{1}, hours{24}, "One more each."),
    RDMEND_DURATION("remedies.settle", remedies.settle, seconds{1}, hours{1}, "After this long the evidence is looked at again, and the next step of a remedy list may run."),
    RDMEND_DURATION("remedies.hold", remedies.hold, seconds{1}, hours{24}, "A change is given back when its alert has been inactive for this long."),
    RDMEND_DURATION("remedies.hold_down", remedies.hold_down, seconds{0}, hours{24}, "Between two actions on one target, doubled each time."),
    RDMEND_DURATION("remedies.hold_down_max", remedies.hold_down_max, seconds{0}, hours{24 * 7}, "The longest that doubling makes it."),
    {"remedies.breaker.share", "number from 0 to 1", "When more than this share of the host's targets is acted on within `window`, all acting stops until `rdmendctl breaker reset`.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (const auto value = r.number(n, p, 0, 1)) c.remedies.breaker_share = *value;
     },
     [](const Config& c) { return fmt::format("{}", c.remedies.breaker_share); }},
    RDMEND_COUNT("remedies.breaker.least", remedies.breaker_least, 1, 1'000'000, "Fewer targets than this never open the breaker."),
    RDMEND_DURATION("remedies.breaker.window", remedies.breaker_window, seconds{1}, hours{24}, "The time that the breaker looks back."),
    {"metrics.per_qp", "true or false", "Series of single queue pairs in /metrics; rules see them always.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (const auto value = r.boolean(n, p)) c.metrics.per_qp = *value;
     },
     [](const Config& c) { return yes(c.metrics.per_qp); }},
    RDMEND_COUNT("metrics.max_series", metrics.max_series, 100, 10'000'000, "Series in /metrics at most; what is dropped is counted."),
    {"metrics.node_exporter_names", "true or false", "In /metrics what node_exporter's infiniband collector has, under its names (`node_infiniband_*`), as well: for dashboards and rules made for it.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (const auto value = r.boolean(n, p)) c.metrics.node_exporter_names = *value;
     },
     [](const Config& c) { return yes(c.metrics.node_exporter_names); }},
    RDMEND_DURATION("sampling.interval", sampling.interval, milliseconds{10}, hours{1}, "How often hardware counters and port attributes are read; not below the drivers' own cache (`lifespan`, 10 ms)."),
    RDMEND_DURATION("sampling.counters_interval", sampling.counters_interval, milliseconds{100}, hours{1}, "How often the InfiniBand `counters/` files are read: a firmware command each on mlx5."),
    RDMEND_DURATION("sampling.qp_interval", sampling.qp_interval, milliseconds{500}, hours{1}, "How often the states of all queue pairs are read: a firmware command a queue pair on mlx5."),
    RDMEND_DURATION("sampling.deadline", sampling.deadline, milliseconds{10}, minutes{5}, "A device that takes longer to answer is stale."),
    RDMEND_COUNT("sampling.qp_cap", sampling.qp_cap, 1, 1'000'000, "Queue pairs read of one device at most."),
    {"store.max_bytes", "size", "Memory for recent samples; beyond it the oldest go, counted. 1MiB to 64GiB.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (const auto value = r.bytes(n, p, 1ULL << 20U, 64ULL << 30U)) c.store.max_bytes = *value;
     },
     [](const Config& c) { return size(c.store.max_bytes); }},
    RDMEND_COUNT("query.max_samples", query.max_samples, 1'000, 50'000'000, "Samples that one expression may load."),
    RDMEND_DURATION("query.timeout", query.timeout, milliseconds{1}, seconds{10}, "Time that one expression may take; the loop stands still that long at most."),
    RDMEND_DURATION("rules.evaluation_interval", rules.evaluation_interval, milliseconds{10}, hours{1}, "Of rule groups that give no `interval`."),
    {"log_level", "error, warning, info or debug", "Lines of a lower level are not written.",
     [](Reader& r, const Node& n, std::string_view p, Config& c) {
       if (auto word = read_word(r, n, p, kLevels)) c.log_level = std::move(*word);
     },
     [](const Config& c) { return c.log_level; }},
};

constexpr std::array<LaterKey, 3> kLater{{
    {"agent_socket", "there is no in-process agent yet"},
    {"peers", "daemons do not talk to each other yet"},
    {"recovery", "connections are not recovered yet"},
}};

}  // namespace

std::span<const Field> fields() { return kFields; }
std::span<const LaterKey> later_keys() { return kLater; }

const std::vector<KeyRow>& keys() {
  static const std::deque<std::string> defaults = [] {
    Diagnostics none;
    const Config config = parse("", "", "<hostname>", none);
    std::deque<std::string> out;
    for (const Field& field : kFields) out.push_back(field.show(config));
    return out;
  }();
  static const std::vector<KeyRow> rows = [] {
    std::vector<KeyRow> out;
    for (const Field& field : kFields) out.push_back({field.path, field.type, defaults[out.size()], field.help});
    return out;
  }();
  return rows;
}

std::string show(const Config& config, std::string_view path) {
  for (const Field& field : kFields)
    if (field.path == path) return field.show(config);
  return {};
}

std::string reference_page() {
  std::string out =
      "# /etc/rdmend/rdmend.yaml\n\n"
      "Made from the table in the code (lib/config/table.cpp). An unknown key is an error. Durations are written like 250ms, 30s or\n"
      "1h30m, sizes like 64MiB. `rdmendctl check config FILE` tells every fault of a file at once.\n\n"
      "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyRow& row : keys())
    out += fmt::format("| `{}` | {} | {} | {} |\n", row.path, row.type, row.default_value.empty() ? "" : fmt::format("`{}`", row.default_value), row.help);
  out += "\nNot in this version, and refused:\n\n";
  for (const LaterKey& key : kLater) out += fmt::format("- `{}`: {}\n", key.path, key.why);
  return out;
}

}  // namespace rdmend::config
