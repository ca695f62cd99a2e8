// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "rdmend/api_json.hpp"
#include "rdmend/api_result.hpp"
#include "rdmend/for_state.hpp"
#include "rdmend/qp_table.hpp"
#include "rdmend/urgent.hpp"
#include "support/virtual_reactor.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

Batch event_of(const std::string& device) {
  Batch out;
  out.urgent = true;
  out.samples.push_back({Labels{{"__name__", "rdma_async_events_total"}, {"device", device}}, 1});
  return out;
}

// One QP, that receives 100 packets a second.
QpDump dump_of(const std::string& device, Timestamp at) {
  QpDump out;
  out.device = device;
  out.at = at;
  QpInfo qp;
  qp.qpn = 17;
  qp.type = static_cast<std::uint8_t>(QpType::rc);
  qp.rq_psn = static_cast<std::uint32_t>(at.time_since_epoch() / 10ms);
  out.qps.push_back(qp);
  return out;
}

}  // namespace

TEST_CASE("rules run at once at an event, then at most once in five milliseconds") {
  test::VirtualReactor loop;
  struct Run {
    std::size_t changed;
    Instant since, at;
  };
  std::vector<Run> runs;
  Urgent urgent(loop, [&](std::span<const Labels> changed, Instant since) { runs.push_back({changed.size(), since, loop.now().mono}); });
  loop.advance(1s);
  const auto start = loop.now().mono;
  urgent.mark(event_of("a"));
  urgent.mark(event_of("b"));  // of the same turn: one run
  loop.advance(0ms);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].changed == 2);
  CHECK(runs[0].at == start);
  for (int i = 0; i < 20; ++i) {
    loop.advance(1ms);
    urgent.mark(event_of("a"));
  }
  loop.advance(10ms);
  REQUIRE(runs.size() >= 4);
  CHECK(runs.size() <= 6);
  std::size_t changed = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    CHECK(runs[i].at - runs[i - 1].at >= 5ms);
    CHECK(runs[i].at - runs[i].since <= 5ms);
    changed += runs[i].changed;
  }
  CHECK(changed == 20);  // nothing is lost
}

TEST_CASE("the state of alerts reads back as it was written, whatever the labels hold") {
  rules::SavedAlert alert;
  alert.group = "group";
  alert.rule = "rule";
  alert.labels = {{"device", "rxe1"}, {"comm", "a\"\\\n\x01"}};
  alert.annotations = {{"summary", "down"}};
  alert.state = AlertState::pending;
  alert.active_at = Timestamp{5ms};
  alert.keep_firing_since = Timestamp{7ms};
  alert.saved_at = Timestamp{9ms};
  alert.value = std::numeric_limits<double>::infinity();
  const auto text = write_for_state(std::vector{alert});
  const auto read = read_for_state(text);
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  CHECK(read->front().group == "group");
  CHECK(read->front().labels == alert.labels);
  CHECK(read->front().state == AlertState::pending);
  CHECK(read->front().active_at == alert.active_at);
  CHECK(read->front().fired_at == Timestamp{});
  CHECK(read->front().keep_firing_since == alert.keep_firing_since);
  CHECK(read->front().saved_at == alert.saved_at);
  CHECK(read->front().annotations == alert.annotations);
  CHECK(std::isnan(read->front().value));
  CHECK(read_for_state("")->empty());
  for (const auto* broken : {"{", "[]", "{}", R"({"alerts":[{}]})", R"({"alerts":[1]})", R"({"alerts":3})", "null"}) {
    INFO(broken);
    CHECK_FALSE(read_for_state(broken));
  }
}

TEST_CASE("the table of QPs keeps two dumps and how far QPs had received before, and answers who waits for a fresh one") {
  test::VirtualReactor loop;
  std::vector<std::string> asked;
  QpTable table(loop, [&](const std::string& device) { asked.push_back(device); });
  CHECK(table.latest("rxe1").at == Timestamp{});
  table.take(dump_of("rxe1", Timestamp{1s}));
  table.take(dump_of("rxe1", Timestamp{2s}));
  CHECK(table.latest("rxe1").at == Timestamp{2s});
  CHECK(table.previous("rxe1").at == Timestamp{1s});
  CHECK(table.devices() == std::vector<std::string>{"rxe1"});
  table.take(dump_of("rxe1", Timestamp{11s}));
  remedies::RaisedQp qp;
  qp.qpn = 17;
  const auto accepted = [&](const std::string& device) {
    return table.history(device).accepted_per_second({qp}, Timestamp{1s}, Timestamp{11s}, 100);
  };
  CHECK(accepted("rxe1") == 100);
  CHECK_FALSE(accepted("rxe2"));

  std::vector<bool> answers;
  table.refresh("rxe1", 100ms, [&](bool fresh) {
    answers.push_back(fresh);
    table.refresh("rxe1", 100ms, [&](bool again) { answers.push_back(again); });  // waits for the dump after
  });
  table.take(dump_of("other", Timestamp{13s}));
  CHECK(answers.empty());
  table.take(dump_of("rxe1", Timestamp{13s}));
  CHECK(answers == std::vector<bool>{true});
  CHECK(asked == std::vector<std::string>{"rxe1", "rxe1"});
  loop.advance(100ms);
  CHECK(answers == std::vector<bool>{true, false});
  table.forget("rxe1");
  CHECK(table.latest("rxe1").at == Timestamp{});
  CHECK_FALSE(accepted("rxe1"));
}

TEST_CASE("times of the API are read as Prometheus reads them") {
  CHECK(parse_time("1435781451.781") == Timestamp{1435781451781ms});
  CHECK(parse_time("1435781451") == Timestamp{1435781451s});
  CHECK(parse_time("2015-07-01T20:10:51.781Z") == Timestamp{1435781451781ms});
  CHECK(parse_time("2015-07-01T22:10:51+02:00") == Timestamp{1435781451s});
  CHECK(parse_time("2015-07-01T11:40:51-08:30") == Timestamp{1435781451s});
  for (const auto* bad : {"", "soon", "1e999", "nan", "2015-07-01", "2015-07-01T20:10:51", "2015-07-01T20:10:51+2:00", "2015-07-01T20:10:51.Z", "1e300"}) {
    INFO(bad);
    CHECK_FALSE(parse_time(bad));
  }
  CHECK(parse_length("0.5") == 500ms);
  CHECK(parse_length("1m") == 60s);
  CHECK(parse_length("-1") == -1s);
  for (const auto* bad : {"", "soon", "1e10", "-1e10", "nan", "-5s"}) CHECK_FALSE(parse_length(bad));
  CHECK(parse_time("-292273086-05-16T16:47:06Z") < Timestamp{-3'000'000h});
  CHECK(parse_time("292277025-08-18T07:12:54.999999999Z") > Timestamp{3'000'000h});
}

TEST_CASE("results are written as Prometheus writes them") {
  CHECK(result_json(promql::Value{1.5}, Timestamp{1435781451781ms}) == R"({"resultType":"scalar","result":[1435781451.781,"1.5"]})");
  CHECK(result_json(promql::Value{std::string("a\"b\xff")}, Timestamp{1435781451s}) == "{\"resultType\":\"string\",\"result\":[1435781451,\"a\\\"b\xef\xbf\xbd\"]}");
  CHECK(result_json(promql::Value{promql::Vector{}}, Timestamp{}) == R"({"resultType":"vector","result":[]})");
  const promql::Vector two{{Labels{{"a", "1"}, {"b", "2"}}, std::nan("")}, {Labels{}, 4}};
  CHECK(result_json(promql::Value{two}, Timestamp{5ms}) ==
        R"({"resultType":"vector","result":[{"metric":{"a":"1","b":"2"},"value":[0.005,"NaN"]},{"metric":{},"value":[0.005,"4"]}]})");
  const promql::Matrix matrix{{Labels{{"a", "\n"}}, {{Timestamp{-1500ms}, 1}, {Timestamp{-5ms}, 2}}}};
  CHECK(result_json(promql::Value{matrix}, Timestamp{}) ==
        R"({"resultType":"matrix","result":[{"metric":{"a":"\n"},"values":[[-1.500,"1"],[-0.005,"2"]]}]})");
  CHECK(success_text("[]").body == "{\"status\":\"success\",\"data\":[]}\n");
  CHECK(success_text("[]", kTruncated).body == "{\"status\":\"success\",\"data\":[],\"warnings\":[\"results truncated due to limit\"]}\n");
}

TEST_CASE("answers are valid UTF-8 whatever a label holds") {
  const auto answer = success({{"metric", to_json(Labels{{"comm", "x\xff\x80y"}})}});
  CHECK(json::parse(answer.body)["data"]["metric"]["comm"] == "x\xef\xbf\xbd\xef\xbf\xbdy");
  CHECK(failure(400, "bad_data", "\xc3(").body.find('\xc3') == std::string::npos);
}
