// SPDX-License-Identifier: Apache-2.0
#include "rules/engine.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace rdmend;
using namespace std::chrono_literals;
using rules::Engine;
using rules::EngineOptions;

namespace {

// A store, an engine and a clock that the test moves.
struct World {
  store::Store store{{64U << 20U, 24h}};
  EngineOptions options;
  Engine engine{store, options};
  milliseconds at{1'000'000'000'000};  // a whole multiple of every interval used here
  std::vector<std::string> told;

  explicit World(const std::string& rules) {
    options.default_interval = 1s;
    options.external_labels = Labels{{"instance", "host-17"}};
    load(rules);
  }
  static std::vector<rules::Group> parse(const std::string& rules) {
    Diagnostics diagnostics;
    auto groups = rules::parse_rule_file("r.yaml", "groups:\n- name: g\n  rules:\n" + rules, diagnostics);
    INFO(diagnostics.text());
    REQUIRE_FALSE(diagnostics.failed());
    return groups;
  }
  void load(const std::string& rules) { engine.load(parse(rules), options, now()); }
  [[nodiscard]] Now now() const { return {Instant(at), Timestamp(at)}; }
  void set(const Labels& series, double value) { store.append(series, Timestamp(at), value); }
  void tell(const std::vector<Decision>& decisions) {
    for (const auto& d : decisions) told.push_back(std::string(alert_state_name(d.before)) + "->" + alert_state_name(d.alert.state) + " " + d.alert.labels.text());
  }
  // Sets x{a=...} and evaluates, once a second.
  void second(std::initializer_list<std::pair<const char*, double>> values) {
    at += 1s;
    for (const auto& [a, value] : values) set({{"__name__", "x"}, {"a", a}}, value);
    tell(engine.step(now()));
  }
  void lose(const char* a) { set({{"__name__", "x"}, {"a", a}}, stale_marker()); }
  std::vector<std::string> take() { return std::exchange(told, {}); }

  // The value of an expression now: "{labels} value" each.
  std::vector<std::string> query(const std::string& expr) const {
    const auto parsed = promql::parse(expr);
    REQUIRE(std::holds_alternative<promql::Expression>(parsed));
    const auto value = promql::evaluate(std::get<promql::Expression>(parsed), store, Timestamp(at), {});
    REQUIRE(value);
    std::vector<std::string> out;
    for (const auto& element : std::get<promql::Vector>(*value)) out.push_back(element.labels.text() + " " + promql::format_value(element.value));
    return out;
  }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("an alert is pending, fires after its `for`, and resolves") {
  World w("  - {alert: A, expr: x > 10, for: 2s}\n");
  w.second({{"1", 5}});
  CHECK(w.take().empty());
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"inactive->pending {a=\"1\",alertname=\"A\"}"});
  CHECK(w.query("ALERTS") == Told{"ALERTS{a=\"1\",alertname=\"A\",alertstate=\"pending\"} 1"});
  CHECK(w.query("ALERTS_FOR_STATE") == Told{"ALERTS_FOR_STATE{a=\"1\",alertname=\"A\"} 1000000002"});
  w.second({{"1", 21}});
  CHECK(w.take().empty());
  w.second({{"1", 22}});
  CHECK(w.take() == Told{"pending->firing {a=\"1\",alertname=\"A\"}"});
  CHECK(w.query("ALERTS") == Told{"ALERTS{a=\"1\",alertname=\"A\",alertstate=\"firing\"} 1"});
  const auto alerts = w.engine.alerts();
  REQUIRE(alerts.size() == 1);
  CHECK(alerts[0].value == 22);
  CHECK(alerts[0].group == "g");
  CHECK(alerts[0].file == "r.yaml");
  CHECK(alerts[0].interval == 1s);
  CHECK(alerts[0].active_at == Timestamp(w.at - 2s));
  CHECK(alerts[0].fired_at == Timestamp(w.at));
  w.second({{"1", 1}});
  CHECK(w.take() == Told{"firing->inactive {a=\"1\",alertname=\"A\"}"});
  CHECK(w.query("ALERTS").empty());
  CHECK(w.query("ALERTS_FOR_STATE").empty());
  REQUIRE(w.engine.alerts().size() == 1);  // told as resolved for a quarter of an hour
  CHECK(w.engine.alerts()[0].resolved_at == Timestamp(w.at));
  for (int i = 0; i < 15 * 60; ++i) w.second({{"1", 1}});
  CHECK(w.engine.alerts().size() == 1);
  w.second({{"1", 1}});
  CHECK(w.engine.alerts().empty());
}

TEST_CASE("a pending alert that ends is forgotten at once; one that resolved may fire anew") {
  World w("  - {alert: A, expr: x > 10, for: 2s}\n  - {alert: B, expr: x > 10}\n");
  w.second({{"1", 20}});
  w.second({{"1", 1}});
  CHECK(w.take() == Told{"inactive->pending {a=\"1\",alertname=\"A\"}", "inactive->firing {a=\"1\",alertname=\"B\"}", "pending->inactive {a=\"1\",alertname=\"A\"}", "firing->inactive {a=\"1\",alertname=\"B\"}"});
  CHECK(w.engine.alerts().size() == 1);
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"inactive->pending {a=\"1\",alertname=\"A\"}", "inactive->firing {a=\"1\",alertname=\"B\"}"});
  CHECK(w.engine.alerts()[1].active_at == Timestamp(w.at));
}

TEST_CASE("G10: keep_firing_for bridges a gap, and counts from its beginning") {
  World w("  - {alert: A, expr: x > 10, keep_firing_for: 3s}\n");
  w.second({{"1", 20}});
  w.second({{"1", 1}});
  w.second({{"1", 1}});
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"inactive->firing {a=\"1\",alertname=\"A\"}"});
  w.second({{"1", 1}});
  CHECK(w.engine.alerts()[0].keep_firing_since == Timestamp(w.at));
  CHECK(w.query("ALERTS").size() == 1);
  w.second({{"1", 1}});
  w.second({{"1", 1}});
  CHECK(w.take().empty());
  w.second({{"1", 1}});
  CHECK(w.take() == Told{"firing->inactive {a=\"1\",alertname=\"A\"}"});
}

TEST_CASE("a later rule sees what an earlier one recorded, at the same time; what vanishes goes stale") {
  World w("  - {record: y, expr: x * 2, labels: {kind: doubled}}\n  - {record: z, expr: y + 1}\n  - {record: one, expr: 1}\n");
  w.second({{"1", 20}, {"2", 30}});
  CHECK(w.query("y") == Told{"y{a=\"1\",kind=\"doubled\"} 40", "y{a=\"2\",kind=\"doubled\"} 60"});
  CHECK(w.query("z") == Told{"z{a=\"1\",kind=\"doubled\"} 41", "z{a=\"2\",kind=\"doubled\"} 61"});
  CHECK(w.query("one") == Told{"one 1"});
  w.at += 1s;
  w.set({{"__name__", "x"}, {"a", "1"}}, 21);
  w.lose("2");
  w.tell(w.engine.step(w.now()));
  CHECK(w.query("y") == Told{"y{a=\"1\",kind=\"doubled\"} 42"});
  CHECK(w.query("z") == Told{"z{a=\"1\",kind=\"doubled\"} 43"});
}

TEST_CASE("labels and annotations are expanded, and an empty label is none") {
  World w("  - alert: A\n    expr: x > 10\n    labels: {severity: '{{ if gt $value 50.0 }}critical{{ else }}warning{{ end }}', a: '', b: '{{ $labels.a }}'}\n    annotations: {summary: 'x is {{ $value }} on {{ $externalLabels.instance }}, {{ $labels.a }}'}\n");
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"inactive->firing {alertname=\"A\",b=\"1\",severity=\"warning\"}"});
  CHECK(w.engine.alerts()[0].annotations.get("summary") == "x is 20 on host-17, 1");
  w.second({{"1", 60}});
  CHECK(w.take() == Told{"inactive->firing {alertname=\"A\",b=\"1\",severity=\"critical\"}", "firing->inactive {alertname=\"A\",b=\"1\",severity=\"warning\"}"});
}

TEST_CASE("two alerts of one label set are an error, and nothing changes") {
  World w("  - {alert: A, expr: x > 10, labels: {a: same}}\n  - {record: r, expr: x, labels: {a: same}}\n");
  w.second({{"1", 20}});
  CHECK(w.take().size() == 1);
  w.second({{"1", 20}, {"2", 20}});
  CHECK(w.take().empty());
  const auto status = w.engine.status();
  CHECK(status[0].health == "err");
  CHECK(status[0].last_error == "vector contains metrics with the same labelset after applying alert labels");
  CHECK(status[0].failures == 1);
  CHECK(status[0].alerts.size() == 1);
  CHECK(status[1].last_error == "vector contains metrics with the same labelset after applying rule labels");
  CHECK(w.query("ALERTS").size() == 1);  // not ended: no result is no news
}

TEST_CASE("a rule over its group's limit forgets its alerts, and says so") {
  World w("  - {alert: A, expr: x > 10}\n  - {record: r, expr: x}\n");
  auto groups = World::parse("  - {alert: A, expr: x > 10}\n  - {record: r, expr: x}\n");
  groups[0].limit = 1;
  w.engine.load(std::move(groups), w.options, w.now());
  w.second({{"1", 20}});
  w.take();
  w.second({{"1", 20}, {"2", 20}});
  CHECK(w.take() == Told{"firing->inactive {a=\"1\",alertname=\"A\"}"});
  CHECK(w.engine.status()[0].last_error == "exceeded limit of 1 with 2 alerts");
  CHECK(w.engine.status()[1].last_error == "exceeded limit of 1 with 2 series");
  CHECK(w.engine.alerts().empty());
  w.second({{"1", 1}, {"2", 20}});
  CHECK(w.take() == Told{"inactive->firing {a=\"2\",alertname=\"A\"}"});
}

TEST_CASE("an expression that fails is an error of its rule alone") {
  World w("  - {alert: A, expr: x / on() x > 0}\n  - {alert: B, expr: x > 10}\n");
  w.second({{"1", 20}, {"2", 20}});
  CHECK(w.take().size() == 2);
  CHECK(w.engine.status()[0].health == "err");
  CHECK_FALSE(w.engine.status()[0].last_error.empty());
  CHECK(w.engine.status()[1].health == "ok");
}

TEST_CASE("a rule's failure is told once when it begins and once when it ends, over a reload too") {
  const std::string rules = "  - {alert: A, expr: x / on() x > 0}\n  - {alert: B, expr: x > 10}\n";
  World w(rules);
  w.second({{"1", 20}});
  CHECK(w.engine.health_changes().empty());
  w.second({{"1", 20}, {"2", 20}});
  const auto began = w.engine.health_changes();
  REQUIRE(began.size() == 1);
  CHECK(began[0].rule == "A");
  CHECK(began[0].error == w.engine.status()[0].last_error);
  w.second({{"1", 20}, {"2", 20}});
  CHECK(w.engine.health_changes().empty());
  w.engine.load(World::parse(rules), w.options, w.now());
  w.second({{"1", 20}, {"2", 20}});
  CHECK(w.engine.health_changes().empty());
  w.lose("2");
  w.second({{"1", 20}});
  const auto ended = w.engine.health_changes();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].rule == "A");
  CHECK(ended[0].error.empty());
}

TEST_CASE("groups keep to the multiples of their interval, and do not make up for lost time") {
  World w("  - {record: y, expr: x}\n");
  auto groups = World::parse("  - {record: y, expr: x}\n");
  groups[0].interval = 10s;
  w.at += 3s;
  w.engine.load(std::move(groups), w.options, w.now());
  CHECK(w.engine.next_due() == Instant(w.at + 7s));
  CHECK(w.engine.step(w.now()).empty());
  CHECK(w.engine.status()[0].evaluations == 0);
  w.at += 7s;
  w.engine.step(w.now());
  CHECK(w.engine.status()[0].evaluations == 1);
  CHECK(w.engine.next_due() == Instant(w.at + 10s));
  w.at += 34s;  // the loop was elsewhere
  w.engine.step(w.now());
  CHECK(w.engine.status()[0].evaluations == 2);
  CHECK(w.engine.status()[0].last_evaluation == Timestamp(w.at - 4s));
  CHECK(w.engine.next_due() == Instant(w.at + 6s));
}

TEST_CASE("a series that changed runs its readers at once, and what reads their results") {
  World w("  - {alert: Early, expr: recorded > 10}\n  - {record: recorded, expr: 'x{a=\"1\"}'}\n  - {record: twice, expr: recorded * 2}\n  - {alert: A, expr: twice > 30}\n  - {alert: Other, expr: unrelated > 0}\n  - {alert: Seen, expr: 'ALERTS{alertname=\"A\"} == 1'}\n");
  w.second({{"1", 1}});
  w.take();
  w.at += 100ms;
  w.set({{"__name__", "x"}, {"a", "2"}}, 20);
  const Labels other[] = {{{"__name__", "x"}, {"a", "2"}}};
  CHECK(w.engine.run_readers_of(other, w.now()).empty());
  w.set({{"__name__", "x"}, {"a", "1"}}, 20);
  const Labels changed[] = {{{"__name__", "x"}, {"a", "1"}}};
  const Instant due = w.engine.next_due();
  w.tell(w.engine.run_readers_of(changed, w.now()));
  CHECK(w.take() == Told{"inactive->firing {a=\"1\",alertname=\"A\"}", "inactive->firing {a=\"1\",alertname=\"Seen\",alertstate=\"firing\"}", "inactive->firing {a=\"1\",alertname=\"Early\"}"});
  CHECK(w.engine.next_due() == due);
  CHECK(w.engine.status()[4].evaluations == 1);
  CHECK(w.engine.status()[0].last_evaluation == Timestamp(w.at));
  // The slot that comes is later than the event: it finds the same.
  w.at += 900ms;
  w.tell(w.engine.step(w.now()));
  CHECK(w.take().empty());
}

TEST_CASE("a late step after an event does not go back in time") {
  World w("  - {alert: A, expr: x > 10}\n");
  w.second({{"1", 1}});
  w.at += 1100ms;
  w.set({{"__name__", "x"}, {"a", "1"}}, 20);
  const Labels changed[] = {{{"__name__", "x"}, {"a", "1"}}};
  CHECK(w.engine.run_readers_of(changed, w.now()).size() == 1);
  w.at += 100ms;
  w.tell(w.engine.step(w.now()));  // its slot was 200 ms ago
  CHECK(w.take().empty());
  CHECK(w.query("ALERTS").size() == 1);
  CHECK(w.engine.status()[0].last_evaluation == Timestamp(w.at));
}

TEST_CASE("a reload keeps the states of rules that stay, and ends those that go") {
  World w("  - {alert: A, expr: x > 10, for: 2s}\n  - {alert: B, expr: x > 10, labels: {severity: low}}\n  - {alert: C, expr: x > 10}\n  - {record: y, expr: x}\n");
  w.second({{"1", 20}});
  w.take();
  w.load("  - {alert: B, expr: x > 10, labels: {severity: high}}\n  - {alert: A, expr: x > 11, for: 2s, annotations: {summary: new}}\n");
  CHECK(w.engine.next_due() == Instant(w.at));
  CHECK(w.engine.alerts().size() == 3);
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"firing->inactive {a=\"1\",alertname=\"C\"}", "inactive->firing {a=\"1\",alertname=\"B\",severity=\"high\"}", "firing->inactive {a=\"1\",alertname=\"B\",severity=\"low\"}"});
  CHECK(w.query("y").empty());
  CHECK(w.query("ALERTS{alertname=\"C\"}").empty());
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"pending->firing {a=\"1\",alertname=\"A\"}"});  // its two seconds began before the reload
  CHECK(w.engine.alerts().size() == 4);  // two that fire, two that are told as resolved
  for (int i = 0; i < 15 * 60 + 1; ++i) w.second({{"1", 20}});
  CHECK(w.engine.alerts().size() == 2);
}

TEST_CASE("G2: a restart keeps a `for` timer, without the time that was down") {
  const std::string text = "  - {alert: A, expr: x > 10, for: 4s}\n";
  World before(text);
  before.second({{"1", 20}});
  before.second({{"1", 20}});
  before.second({{"1", 20}});  // 2 of 4 seconds spent
  const auto saved = before.engine.save();
  REQUIRE(saved.size() == 1);
  CHECK(saved[0].state == AlertState::pending);
  CHECK(saved[0].saved_at == Timestamp(before.at));

  World after(text);
  after.at = before.at + 60s;
  after.load(text);
  after.engine.restore(saved, after.now());
  after.second({{"1", 20}});
  CHECK(after.take() == Told{"inactive->pending {a=\"1\",alertname=\"A\"}"});
  after.second({{"1", 20}});
  CHECK(after.take().empty());
  after.second({{"1", 20}});
  CHECK(after.take() == Told{"pending->firing {a=\"1\",alertname=\"A\"}"});
}

TEST_CASE("G2: a long `for` does not end sooner after a restart than the grace") {
  const std::string text = "  - {alert: A, expr: x > 10, for: 20m}\n";
  rules::SavedAlert saved{"g", "A", {{"a", "1"}, {"alertname", "A"}}, AlertState::pending, {}, {}, {}, {}, 0, {}};
  World w(text);
  saved.active_at = Timestamp(w.at - 30min);
  saved.saved_at = Timestamp(w.at - 11min);  // 19 of 20 minutes spent
  const rules::SavedAlert all[] = {saved};
  w.engine.restore(all, w.now());
  for (int i = 0; i < 10 * 60; ++i) w.second({{"1", 20}});
  CHECK(w.take() == Told{"inactive->pending {a=\"1\",alertname=\"A\"}"});
  w.second({{"1", 20}});
  CHECK(w.take() == Told{"pending->firing {a=\"1\",alertname=\"A\"}"});
}

TEST_CASE("G2: what was firing before a restart fires on until its window has been seen again") {
  const std::string text = "  - {alert: A, expr: 'increase(x[10s]) > 10'}\n";
  World before(text);
  for (int i = 0; i < 12; ++i) before.second({{"1", i * 10.0}});
  const auto saved = before.engine.save();
  REQUIRE(saved.size() == 1);
  CHECK(saved[0].state == AlertState::firing);

  World storm(text);
  storm.at = before.at + 5s;
  storm.load(text);
  storm.engine.restore(saved, storm.now());
  REQUIRE(storm.engine.alerts().size() == 1);
  CHECK(storm.engine.alerts()[0].state == AlertState::firing);
  CHECK(storm.engine.alerts()[0].value == saved[0].value);
  for (int i = 0; i < 30; ++i) storm.second({{"1", i * 10.0}});
  CHECK(storm.take().empty());
  CHECK(storm.engine.alerts()[0].fired_at == saved[0].fired_at);

  World calm(text);
  calm.at = before.at + 5s;
  calm.load(text);
  calm.engine.restore(saved, calm.now());
  for (int i = 0; i < 11; ++i) calm.second({{"1", 5}});
  CHECK(calm.take().empty());
  for (int i = 0; i < 3; ++i) calm.second({{"1", 5}});
  CHECK(calm.take() == Told{"firing->inactive {a=\"1\",alertname=\"A\"}"});
}

TEST_CASE("query_offset looks back, and writes at the time it looked at") {
  World w("  - {record: y, expr: x}\n");
  auto groups = World::parse("  - {record: y, expr: x}\n");
  groups[0].query_offset = 5s;
  w.engine.load(std::move(groups), w.options, w.now());
  for (int i = 1; i <= 8; ++i) w.second({{"1", i * 1.0}});
  CHECK(w.query("y") == Told{"y{a=\"1\"} 3"});
  CHECK(w.query("timestamp(y)") == Told{"{a=\"1\"} " + promql::format_value(static_cast<double>((w.at - 5s).count()) / 1000)});
  CHECK(w.engine.reach() == 5min + 5s);
}

TEST_CASE("a clock that is set back does no harm") {
  World w("  - {alert: A, expr: x > 10, for: 2s}\n");
  w.second({{"1", 20}});
  w.second({{"1", 20}});
  w.take();
  Now now = w.now();
  for (int i = 1; i <= 5; ++i) {
    now.mono += 1s;
    now.wall = Timestamp(w.at - 1h + i * 1s);
    w.store.append({{"__name__", "x"}, {"a", "1"}}, now.wall, 20);
    w.engine.step(now);
  }
  CHECK(w.engine.status()[0].evaluations == 7);
}

TEST_CASE("an alert is as old after the clock was set back as before, and no evaluation is missed") {
  World w("  - {alert: A, expr: x > 10, for: 5s}\n  - {record: y, expr: x}\n");
  for (int i = 0; i < 3; ++i) w.second({{"1", 20}});
  w.take();
  w.store.set_back(1h + 300ms);
  w.engine.set_back(1h + 300ms);
  CHECK(w.engine.alerts()[0].active_at == Timestamp(w.at - 2s - 1h - 300ms));
  Now now = w.now();
  now.wall -= 1h + 300ms;
  const auto second = [&] {
    now = {now.mono + 1s, now.wall + 1s};
    w.store.append({{"__name__", "x"}, {"a", "1"}}, now.wall, 20);
    w.tell(w.engine.step(now));
  };
  second();
  second();
  CHECK(w.take().empty());
  second();
  second();
  CHECK(w.take() == Told{"pending->firing {a=\"1\",alertname=\"A\"}"});
  CHECK(w.store.stats().rejected_points == 0);
}

TEST_CASE("after a clock was set back no alert has begun or ended in the future") {
  World w("  - {alert: A, expr: x > 10, keep_firing_for: 3s}\n");
  w.second({{"1", 20}});
  REQUIRE(w.take() == Told{"inactive->firing {a=\"1\",alertname=\"A\"}"});
  Now now = w.now();
  const auto back = [&](milliseconds by) {
    now = {now.mono + 1s, now.wall - by};
    w.tell(w.engine.step(now));
    const auto alerts = w.engine.alerts();
    REQUIRE(alerts.size() == 1);
    CHECK(alerts[0].fired_at == now.wall);
    return alerts[0];
  };
  const auto kept = back(1h);  // nothing is known of x at that time
  CHECK(kept.state == AlertState::firing);
  CHECK(kept.keep_firing_since == now.wall);
  CHECK(back(1h).keep_firing_since == now.wall);  // what was kept is not kept an hour longer
  for (int i = 0; i < 3; ++i) {
    now = {now.mono + 1s, now.wall + 1s};
    w.tell(w.engine.step(now));
  }
  CHECK(w.take() == Told{"firing->inactive {a=\"1\",alertname=\"A\"}"});
  CHECK(w.engine.alerts()[0].resolved_at == now.wall);
  CHECK(back(1h).resolved_at == now.wall);  // or an Alertmanager would take it for firing until then
}
