// SPDX-License-Identifier: Apache-2.0
#include "remedies/rnr_timer.hpp"

#include <catch2/catch.hpp>

#include "advice/timers.hpp"
#include "rc_qp.hpp"

using namespace rdmend;
using namespace rdmend::remedies;
using rdmend::test::rc_qp;
using namespace std::chrono_literals;

namespace {

QpDump dump(std::vector<QpInfo> qps, milliseconds at = {}) {
  return {"rxe2", Timestamp{at}, std::move(qps), false};
}

RaisedQp raised(std::uint32_t qpn) {
  RaisedQp out;
  out.qpn = qpn;
  out.pid = 812;
  out.remote_qpn = 100 + qpn;
  out.before = 1;
  out.after = 4;
  out.global = true;
  out.remote_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  out.text = "rxe2/1 qpn 17 (\"odd\" name, pid 812)";
  return out;
}

}  // namespace

TEST_CASE("a timer is raised by its duration, never by its number") {
  CHECK(raised_code(1, {4, 10ms}) == 4);    // 0.01 -> 0.04
  CHECK(raised_code(2, {4, 10ms}) == 6);    // 0.02 -> 0.08
  CHECK(raised_code(3, {4, 10ms}) == 7);    // 0.03 -> 0.12
  CHECK(raised_code(4, {1.5, 10ms}) == 5);  // 0.04 -> 0.06
  CHECK(raised_code(4, {1.6, 10ms}) == 6);  // 0.064: rounded up
  CHECK(raised_code(1, {1.0001, 10ms}) == 2);
  CHECK(raised_code(1, {64, 10ms}) == 12);  // 0.64 ms
  CHECK(raised_code(1, {60'000, 10ms}) == 19);
  CHECK(raised_code(18, {4, 10ms}) == 19);  // 20.48 ms: cut to 7.68
  CHECK(raised_code(1, {65'536, 655'360us}) == 0);
  CHECK(raised_code(31, {4, 655'360us}) == 0);
}

TEST_CASE("a QP at or above the ceiling is left alone") {
  CHECK_FALSE(raised_code(0, {4, 10ms}));  // 655.36 ms, though the number is the smallest
  CHECK_FALSE(raised_code(19, {4, 10ms}));
  CHECK_FALSE(raised_code(31, {4, 10ms}));
  CHECK_FALSE(raised_code(1, {4, 5us}));
  CHECK_FALSE(raised_code(1, {4, 10us}));
}

TEST_CASE(
    "for every code, factor and ceiling: longer than before, within the ceiling, at least the factor unless "
    "cut") {
  for (int code = 0; code < 32; ++code)
    for (const double factor : {1.0001, 1.5, 2.0, 4.0, 100.0, 65'536.0})
      for (const auto ceiling : {10us, 15us, 640us, 10'000us, 655'359us, 655'360us}) {
        const auto now = advice::rnr_timer(static_cast<std::uint8_t>(code));
        const auto to = raised_code(static_cast<std::uint8_t>(code), {factor, ceiling});
        CAPTURE(code, factor, ceiling.count());
        const auto longest = advice::rnr_timer(*advice::rnr_code_at_most(ceiling));
        CHECK(to.has_value() == (now < longest));
        if (!to) continue;
        CHECK(advice::rnr_timer(*to) > now);
        CHECK(advice::rnr_timer(*to) <= ceiling);
        CHECK((advice::rnr_timer(*to) == longest || static_cast<double>(advice::rnr_timer(*to).count()) >=
                                                        static_cast<double>(now.count()) * factor - 1e-3));
      }
}

TEST_CASE("those that receive are told by their rq_psn") {
  auto other_thread = rc_qp(6, 20);
  other_thread.pid = 999;
  auto orphan = rc_qp(7, 20);
  orphan.pid = 0;  // its thread has ended since
  auto reconnected = rc_qp(8, 20);
  reconnected.remote_qpn = 5;
  const auto before =
      dump({rc_qp(1, 10), rc_qp(2, 10), rc_qp(3, 10), rc_qp(4, std::nullopt), rc_qp(6, 10), rc_qp(7, 10), rc_qp(8, 10)});
  const auto after =
      dump({rc_qp(1, 11), rc_qp(2, 10), rc_qp(4, std::nullopt), rc_qp(5, 77), other_thread, orphan, reconnected});
  const auto found = moving_receivers(before, after, "1");
  std::vector<std::uint32_t> qpns;
  for (const auto& one : found.moving) qpns.push_back(one.qpn);
  CHECK(qpns == std::vector<std::uint32_t>{1, 7});
  CHECK(found.candidates == 7);
  CHECK(found.silent == 1);
  CHECK(moving_receivers(before, after, "2").candidates == 0);
  CHECK(moving_receivers({}, after, "1").moving.empty());
}

TEST_CASE("a record comes back as it was written, and nothing else is taken for one") {
  const RaiseRecord record{"rxe2", "1", {raised(17), raised(18)}};
  const auto text = encode(record);
  const auto read = decode_raise_record(text);
  REQUIRE(read);
  CHECK(read->device == "rxe2");
  CHECK(read->port == "1");
  REQUIRE(read->qps.size() == 2);
  CHECK(read->qps[0].qpn == 17);
  CHECK(read->qps[0].pid == 812);
  CHECK(read->qps[0].remote_qpn == 117);
  CHECK(read->qps[0].before == 1);
  CHECK(read->qps[0].after == 4);
  CHECK(read->qps[0].global);
  CHECK(read->qps[0].remote_gid == record.qps[0].remote_gid);
  CHECK(read->qps[0].text == record.qps[0].text);
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(decode_raise_record(text.substr(0, length)));
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return decode_raise_record(changed).has_value();
  };
  CHECK_FALSE(with("\"before\":1", "\"before\":32"));
  CHECK_FALSE(with("\"before\":1", "\"before\":-1"));
  CHECK_FALSE(with("\"after\":4", "\"after\":\"4\""));
  CHECK_FALSE(with("fe80", "FE80"));
  CHECK_FALSE(with("fe80", "fe8"));
  CHECK_FALSE(with("\"qpn\":17", "\"qpm\":17"));
  CHECK_FALSE(decode_raise_record("[]"));
  CHECK_FALSE(decode_raise_record(R"({"device":"d","port":"1","qps":{}})"));
}

TEST_CASE("the verdict: fewer NAKs for the packets received, and no fewer packets") {
  const auto verdict = [](Flow before, Flow after) { return judge(before, after); };
  auto good = verdict({400, 1400, {}}, {100, 1300, {}});
  CHECK(good.better);
  CHECK(
      good.reason ==
      "RNR NAKs per received packet fell from 0.286 to 0.0769, packets received went from 1400/s to 1300/s");
  CHECK(good.figures.at("rnr_naks_before") == "400/s");
  CHECK(good.figures.at("packets_after") == "1300/s");
  CHECK(good.figures.at("naks_per_packet_after") == "0.0769");
  CHECK(good.figures.at("accepted_before") == "unknown");

  CHECK(verdict({400, 1000, {}}, {100, 900, {}}).better);  // exactly 10 %
  CHECK_FALSE(verdict({400, 1000, {}}, {100, 899, {}}).better);
  CHECK(verdict({400, 1000, 600}, {100, 700, 600}).better);  // what fell was sent twice before
  CHECK(verdict({400, 1000, 600}, {100, 700, 540}).better);
  CHECK_FALSE(verdict({400, 1000, 600}, {100, 700, 539}).better);
  CHECK_FALSE(verdict({400, 1000, 600}, {100, 700, {}}).better);
  CHECK_FALSE(verdict({400, 1000, {}}, {400, 1000, {}}).better);  // the same is not better
  CHECK_FALSE(verdict({100, 1000, {}}, {100, 500, {}}).better);   // fewer packets, as many NAKs
  CHECK_FALSE(verdict({0, 1000, {}}, {0, 1000, {}}).better);
  CHECK_FALSE(verdict({100, 0, {}}, {100, 0, {}}).better);
  CHECK_FALSE(verdict({100, 1000, {}}, {0, 0, {}}).better);  // silence is not health

  CHECK(verdict({{}, 1000, {}}, {100, 1000, {}}).reason ==
        "not verified: RNR NAKs or packets before it are not known");
  CHECK(verdict({100, 1000, {}}, {{}, 1000, {}}).reason ==
        "not verified: RNR NAKs or packets after it are not known");
  CHECK(verdict({400, 1000, 600}, {100, 700, 100}).reason ==
        "RNR NAKs per received packet fell from 0.4 to 0.143, but packets received went from 1000/s to "
        "700/s: a fall of more than 10 %");
}
