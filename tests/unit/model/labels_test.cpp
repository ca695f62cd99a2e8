// SPDX-License-Identifier: Apache-2.0
#include "model/labels.hpp"

#include <catch2/catch.hpp>

#include "model/qp.hpp"
#include "model/sample.hpp"

using namespace rdmend;

TEST_CASE("labels are sorted, unique, and an empty value is no label") {
  Labels labels{{"b", "2"}, {"a", "1"}, {"c", ""}};
  CHECK(labels.text() == "{a=\"1\",b=\"2\"}");
  labels.set("__name__", "up");
  labels.set("b", "");
  CHECK(labels.text() == "up{a=\"1\"}");
  CHECK(labels.get("nothing").empty());
  CHECK(labels == Labels{{"a", "1"}, {"__name__", "up"}});
  CHECK(labels.hash() == Labels{{"a", "1"}, {"__name__", "up"}}.hash());
}

TEST_CASE("label values are quoted as Prometheus quotes them") {
  CHECK(Labels{{"a", "x\"y\\z\n"}}.text() == "{a=\"x\\\"y\\\\z\\n\"}");
}

TEST_CASE("a metric's name that is no identifier is written as the label that it is, so that the text can be read back") {
  CHECK(Labels{{"__name__", "\x82up"}, {"a", "1"}}.text() == "{__name__=\"\x82up\",a=\"1\"}");
  CHECK(Labels{{"__name__", "1st"}}.text() == "{__name__=\"1st\"}");
  CHECK(Labels{{"__name__", "a:b_1"}}.text() == "a:b_1");
}

TEST_CASE("the staleness marker is told from other NaNs") {
  CHECK(is_stale(stale_marker()));
  CHECK_FALSE(is_stale(__builtin_nan("")));
}

TEST_CASE("QP types and states have the kernel's names, unknown ones their number") {
  CHECK(qp_type_name(2) == "RC");
  CHECK(qp_type_name(12) == "type 12");
  CHECK(qp_state_name(6) == "ERR");
  CHECK(qp_state_name(9) == "state 9");
}
