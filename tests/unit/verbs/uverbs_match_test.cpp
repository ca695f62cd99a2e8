// SPDX-License-Identifier: Apache-2.0
#include "verbs/uverbs_match.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <random>

using namespace rdmend;
using namespace rdmend::verbs;

namespace {

constexpr std::uint8_t kRtr = 2;
constexpr std::uint8_t kRts = 3;

QpInfo listed(std::uint32_t qpn, std::uint32_t peer, std::uint32_t rq, std::uint32_t sq, std::uint8_t state = kRts) {
  QpInfo qp;
  qp.qpn = qpn;
  qp.port = 1;
  qp.type = static_cast<std::uint8_t>(QpType::rc);
  qp.state = state;
  qp.remote_qpn = peer;
  qp.rq_psn = rq;
  qp.sq_psn = sq;
  return qp;
}

wire::QpAttributes answer(std::uint32_t peer, std::uint32_t rq, std::uint32_t sq, std::uint8_t state = kRts) {
  wire::QpAttributes a;
  a.port = 1;
  a.state = state;
  a.dest_qpn = peer;
  a.rq_psn = rq & 0xffffff;
  a.sq_psn = sq & 0xffffff;
  return a;
}

// "17=0 18=1 {19,20}={2,3} 21=?": QP numbers and indexes of answers, in the QPs' order; closed groups only are told.
std::string told(std::vector<QpInfo> qps, std::vector<wire::QpAttributes> answers, std::vector<QpInfo> later = {}) {
  std::map<std::uint32_t, std::string> parts;
  for (auto group : match_qps(qps, later, answers)) {
    std::sort(group.listed.begin(), group.listed.end());
    std::sort(group.answered.begin(), group.answered.end());
    std::string left, right;
    for (const auto l : group.listed) left += (left.empty() ? "" : ",") + std::to_string(qps[l].qpn);
    for (const auto a : group.answered) right += (right.empty() ? "" : ",") + std::to_string(a);
    const auto first = qps[group.listed.front()].qpn;
    if (group.exact()) parts[first] = left + "=" + right;
    else if (group.closed()) parts[first] = "{" + left + "}={" + right + "}";
    else parts[first] = "{" + left + "}=?";
  }
  std::string out;
  for (const auto& [qpn, part] : parts) out += (out.empty() ? "" : " ") + part;
  return out;
}

}  // namespace

TEST_CASE("QPs are told by their peer, whatever the order of the handles") {
  CHECK(told({listed(17, 40, 5, 6), listed(18, 41, 5, 6)}, {answer(41, 5, 6), answer(40, 5, 6)}) == "17=1 18=0");
}

TEST_CASE("QPs with the same peer QPN, on two hosts, are told by their PSNs") {
  CHECK(told({listed(17, 40, 0x100000, 5), listed(18, 40, 0x900000, 5)}, {answer(40, 0x900003, 5), answer(40, 0x100001, 9)}) == "17=1 18=0");
}

TEST_CASE("a PSN may have moved on, over the end of 24 bits too, but never back nor far") {
  CHECK(told({listed(17, 40, 0xfffff0, 0)}, {answer(40, 0x000010, 3)}) == "17=0");
  CHECK(told({listed(17, 40, 100, 0)}, {answer(40, 99, 0)}) == "{17}=?");
  CHECK(told({listed(17, 40, 100, 0)}, {answer(40, 100 + kMostForward, 0)}) == "17=0");
  CHECK(told({listed(17, 40, 100, 0)}, {answer(40, 101 + kMostForward, 0)}) == "{17}=?");
}

TEST_CASE("another port, another state or another peer is another QP") {
  auto elsewhere = answer(40, 5, 6);
  elsewhere.port = 2;
  CHECK(told({listed(17, 40, 5, 6)}, {elsewhere}) == "{17}=?");
  CHECK(told({listed(17, 40, 5, 6)}, {answer(40, 5, 6, kRtr)}) == "{17}=?");
  CHECK(told({listed(17, 40, 5, 6)}, {answer(41, 5, 6)}) == "{17}=?");
  auto nowhere = listed(17, 40, 5, 6);
  nowhere.port = 0;  // the kernel did not say
  CHECK(told({nowhere}, {elsewhere}) == "17=0");
}

TEST_CASE("the only way to match all of them is taken, though one alone could be either") {
  // The answer 105 may be 17 (moved on by five) or 18 (at rest); 110 can only be 18.
  CHECK(told({listed(17, 40, 100, 0), listed(18, 40, 105, 0)}, {answer(40, 105, 0), answer(40, 110, 0)}) == "{17,18}={0,1}");
  CHECK(told({listed(17, 40, 100, 0), listed(18, 40, 105, 0)}, {answer(40, 102, 0), answer(40, 110, 0)}) == "17=0 18=1");
}

TEST_CASE("a second listing bounds the PSNs from above and tells what one listing could not") {
  const std::vector<QpInfo> before{listed(17, 40, 100, 0), listed(18, 40, 105, 0)};
  CHECK(told(before, {answer(40, 105, 0), answer(40, 110, 0)}, {listed(17, 40, 105, 0), listed(18, 40, 110, 0)}) == "17=0 18=1");
  CHECK(told(before, {answer(40, 105, 0), answer(40, 100, 0)}, before) == "17=1 18=0");
  SECTION("unless the QP is another one by then") { CHECK(told({listed(17, 40, 100, 0)}, {answer(40, 105, 0)}, {listed(17, 41, 0, 0)}) == "17=0"); }
}

TEST_CASE("QPs that are alike in all that can be seen are alike, and said to be") {
  CHECK(told({listed(17, 40, 0, 0), listed(18, 40, 0, 0), listed(19, 41, 0, 0)}, {answer(40, 0, 0), answer(41, 0, 0), answer(40, 0, 0)}) ==
        "{17,18}={0,2} 19=1");
}

TEST_CASE("numbers that do not agree are never guessed at") {
  // Another process's QP (its thread has ended, so it is listed with ours) looks like the one that answered.
  CHECK(told({listed(17, 40, 7, 7), listed(99, 40, 7, 7)}, {answer(40, 7, 7)}) == "{17,99}=?");
  // One that was made after the listing.
  CHECK(told({listed(17, 40, 7, 7)}, {answer(40, 7, 7), answer(40, 7, 7)}) == "{17}=?");
  // 17's own handle is missing; what answered is 18's and must not become 17's by elimination.
  CHECK(told({listed(17, 40, 100, 0), listed(18, 40, 105, 0)}, {answer(40, 106, 0)}) == "{17,18}=?");
}

TEST_CASE("QPs without a peer are left out") {
  auto datagram = listed(17, 40, 5, 6);
  datagram.type = static_cast<std::uint8_t>(QpType::ud);
  CHECK(told({datagram, listed(18, 40, 5, 6, 1), listed(19, 40, 5, 6, 0)}, {answer(40, 5, 6), answer(40, 5, 6, 1)}).empty());
  CHECK(told({}, {answer(40, 5, 6)}).empty());
}

TEST_CASE("a process cannot make the hand slow with thousands of QPs that look the same") {
  std::vector<QpInfo> qps;
  std::vector<wire::QpAttributes> answers;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    qps.push_back(listed(i, 40, i, 0));
    answers.push_back(answer(40, i + 1, 0));
  }
  const auto began = std::chrono::steady_clock::now();
  const auto groups = match_qps(qps, {}, answers);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{2});
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].listed.size() == 20'000);
  // 512 of them, just under the limit, chained so that each could be many others.
  const auto few = match_qps(std::span(qps).first(512), {}, std::span(answers).first(512));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{10});
  std::size_t count = 0;
  for (const auto& group : few) count += group.listed.size();
  CHECK(count == 512);
}

TEST_CASE("no exact match is ever wrong, in random crowds of QPs that share peers and move while one looks") {
  std::mt19937 random(4711);  // NOLINT(cert-msc51-cpp): the same cases each run
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  std::size_t exact = 0, wrong = 0, all = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t count = 1 + below(12);
    std::vector<QpInfo> before, after;
    std::vector<wire::QpAttributes> answers;
    std::vector<std::size_t> truth(count);
    for (std::size_t i = 0; i < count; ++i) truth[i] = i;
    std::shuffle(truth.begin(), truth.end(), random);  // answer k is QP truth[k]
    for (std::size_t i = 0; i < count; ++i) before.push_back(listed(static_cast<std::uint32_t>(i), 40 + below(3), below(30), below(30)));
    after = before;
    answers.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      const auto& qp = before[truth[k]];
      answers[k] = answer(*qp.remote_qpn, *qp.rq_psn + below(8), *qp.sq_psn + below(8));
      after[truth[k]].rq_psn = answers[k].rq_psn + below(8);
      after[truth[k]].sq_psn = answers[k].sq_psn + below(8);
    }
    const bool twice = round % 2 == 0;
    for (const auto& group : match_qps(before, twice ? after : std::vector<QpInfo>{}, answers)) {
      all += group.listed.size();
      if (group.exact()) {
        ++exact;
        if (truth[group.answered[0]] != group.listed[0]) ++wrong;
        continue;
      }
      // An alike group holds the true partner of each of its own.
      for (const auto a : group.answered) CHECK(std::count(group.listed.begin(), group.listed.end(), truth[a]) == 1);
    }
  }
  CHECK(wrong == 0);
  CHECK(exact * 3 > all);
}
