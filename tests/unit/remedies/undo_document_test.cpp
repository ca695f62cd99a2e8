// SPDX-License-Identifier: Apache-2.0
#include "remedies/undo_document.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace rdmend;
using namespace rdmend::remedies;

TEST_CASE("what is due to be undone is read as it was written") {
  DueUndo due;
  due.action = 42;
  due.rule = "RdmaRnrNakStorm";
  due.group = "a \"group\"\n";
  due.alert = {{"device", "rxe2"}, {"port", "1"}};
  due.value = 412.5;
  due.spec = {"raise_min_rnr_timer", "r.yaml", {3, 5}, {{"factor", {"4"}, false, {}, {}}, {"list", {"a", "b"}, true, {}, {}}}};
  due.target = "rxe2/1 qpn 17";
  due.record = R"({"nested":"json"})";
  due.verified = true;
  due.began = Timestamp{milliseconds{1'700'000'000'000}};
  due.inactive_since = Timestamp{milliseconds{1'700'000'060'000}};
  due.hold = std::chrono::minutes{20};
  auto infinite = due;
  infinite.value = std::numeric_limits<double>::infinity();
  std::string fault;
  const auto read = decode_due_undos(encode({due, infinite}), fault);
  CHECK(fault.empty());
  REQUIRE(read.size() == 2);
  CHECK(read[0].action == 42);
  CHECK(read[0].rule == due.rule);
  CHECK(read[0].group == due.group);
  CHECK(read[0].alert == due.alert);
  CHECK(read[0].value == due.value);
  CHECK(read[0].spec.kind == due.spec.kind);
  REQUIRE(read[0].spec.params.size() == 2);
  CHECK(read[0].spec.params[1].values == due.spec.params[1].values);
  CHECK(read[0].spec.params[1].is_list);
  CHECK(read[0].target == due.target);
  CHECK(read[0].record == due.record);
  CHECK(read[0].verified);
  CHECK(read[0].began == due.began);
  CHECK(read[0].inactive_since == due.inactive_since);
  CHECK(read[0].hold == due.hold);
}

TEST_CASE("nothing due is no fault, and what cannot be read costs no more than itself") {
  std::string fault;
  CHECK(decode_due_undos("", fault).empty());
  CHECK(decode_due_undos(encode(std::vector<DueUndo>{}), fault).empty());
  CHECK(fault.empty());
  CHECK(decode_due_undos("{]", fault).empty());
  CHECK(fault == "the list of due undos is not one that this rdmend knows");
  auto text = encode({DueUndo{}, DueUndo{}});
  text.replace(text.find("\"rule\":\"\""), 9, "\"rule\":77");
  fault.clear();
  CHECK(decode_due_undos(text, fault).size() == 1);
  CHECK(fault.rfind("one due undo cannot be read: ", 0) == 0);
}
