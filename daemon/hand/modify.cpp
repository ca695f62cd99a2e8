// SPDX-License-Identifier: Apache-2.0
#include "modify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "model/qp.hpp"
#include "verbs/uverbs_ioctl.hpp"

namespace rdmend::hand {
namespace {

bool same_connection(const wire::QpAttributes& a, const wire::QpAttributes& b) {
  return a.port == b.port && a.dest_qpn == b.dest_qpn && a.global == b.global &&
         (!a.global || std::equal(std::begin(a.remote_gid), std::end(a.remote_gid), std::begin(b.remote_gid)));
}

void refuse(const std::vector<Target>& targets, const char* what) {
  for (const auto& target : targets)
    target.reply->error = fmt::format("QP {} cannot be told from {} that {}", target.asked->qpn, targets.size() == 2 ? "another" : "others", what);
}

std::string why(const Error& error, std::uint32_t qpn) {
  switch (error.code) {
    case ENOENT: return fmt::format("QP {} was destroyed meanwhile", qpn);
    case EBUSY: return fmt::format("QP {}: its owner is destroying it", qpn);
    case EIO: return fmt::format("QP {}: the device has gone", qpn);
    default: return fmt::format("QP {}: the kernel refuses: {}", qpn, error.message);
  }
}

// One look, one write, one look. Between them its owner may destroy the QP and get the same handle for another; a fresh QP is in RESET,
// where the write is refused, and the second look tells it from the first.
void modify_one(const verbs::Uverbs& uverbs, const wire::HandQp& asked, const Answer& answer, wire::HandQpReply& reply) {
  const auto before = verbs::query_qp(uverbs, answer.handle);
  if (!before) {
    reply.error = why(before.error(), asked.qpn);
    return;
  }
  reply.before = *before;
  if (!same_connection(answer.attributes, *before)) reply.error = fmt::format("QP {} was destroyed meanwhile, another has its handle", asked.qpn);
  else if (before->state != static_cast<std::uint8_t>(QpState::rts))
    reply.error = fmt::format("QP {} went to {} meanwhile", asked.qpn, qp_state_name(before->state));
  else if (asked.expected && asked.expected->min_rnr_timer != before->min_rnr_timer)
    reply.error = fmt::format("QP {} has timer {} now, not {}: somebody else has set it", asked.qpn, before->min_rnr_timer, asked.expected->min_rnr_timer);
  if (!reply.error.empty()) return;
  if (const auto done = verbs::modify_min_rnr_timer(uverbs, answer.handle, asked.new_min_rnr_timer); !done) {
    reply.error = why(done.error(), asked.qpn);
    return;
  }
  const auto after = verbs::query_qp(uverbs, answer.handle);
  if (!after) {
    reply.error = why(after.error(), asked.qpn);
    return;
  }
  reply.after = *after;
  if (!same_connection(*before, *after)) reply.error = fmt::format("QP {} was destroyed while its timer was set", asked.qpn);
  else if (after->min_rnr_timer != asked.new_min_rnr_timer)
    reply.error = fmt::format("QP {}: the driver keeps timer {} though {} was accepted", asked.qpn, after->min_rnr_timer, asked.new_min_rnr_timer);
}

// Which answer may be this target's? Each answer serves one target.
std::optional<std::size_t> choose(const wire::HandQp& asked, const std::vector<Answer>& answers, const std::vector<bool>& used) {
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (!used[i] && (!asked.expected || holds(*asked.expected, answers[i].attributes))) return i;
  return std::nullopt;
}

}  // namespace

bool holds(const wire::QpAttributes& expected, const wire::QpAttributes& now) {
  return same_connection(expected, now) && expected.min_rnr_timer == now.min_rnr_timer;
}

void tell(const std::vector<Target>& targets, const std::vector<Answer>& answers) {
  const auto& first = answers.front().attributes;
  const bool alike = std::all_of(answers.begin(), answers.end(), [&](const Answer& a) {
    return holds(first, a.attributes) && a.attributes.timeout == first.timeout && a.attributes.retry_cnt == first.retry_cnt &&
           a.attributes.rnr_retry == first.rnr_retry;
  });
  if (!alike) return refuse(targets, "has other attributes");
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i].reply->before = answers[i].attributes;
}

void modify(Hold& hold, std::uint32_t driver_id, const std::vector<Target>& targets, const std::vector<Answer>& answers) {
  const auto value = targets.front().asked->new_min_rnr_timer;
  if (std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.asked->new_min_rnr_timer != value; }))
    return refuse(targets, "is to get another timer");
  std::vector<bool> used(answers.size(), false);
  for (const auto& target : targets) {
    const auto chosen = choose(*target.asked, answers, used);
    if (!chosen) {
      target.reply->before = answers.size() == 1 ? std::optional(answers.front().attributes) : std::nullopt;
      target.reply->error = fmt::format("QP {} is no longer as it was expected to be: its peer, port or timer has changed", target.asked->qpn);
      continue;
    }
    used[*chosen] = true;
    if (const auto taken = hold.refresh(); !taken) {
      target.reply->error = taken.error().message;
      continue;
    }
    const auto& answer = answers[*chosen];
    modify_one({hold.fd(answer.number), driver_id}, *target.asked, answer, *target.reply);
  }
}

}  // namespace rdmend::hand
