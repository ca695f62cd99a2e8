// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>

#include "base/log.hpp"
#include "base/text.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"

namespace rdmend::daemon {
namespace {

// Who did it stands in the log beside what was done.
void audit(const HttpRequest& request, const std::string& what) {
  log::info("control", what, {{"uid", request.peer_uid ? std::to_string(*request.peer_uid) : "unknown"}});
}

}  // namespace

void api_mode(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto& wanted = request.parameter("mode");
  if (wanted != "observe" && wanted != "act")
    return answer(failure(400, "bad_data", fmt::format("invalid parameter \"mode\": '{}'; legal are: observe, act", printable(wanted, 32))));
  std::optional<milliseconds> length;
  if (const auto& text = request.parameter("for"); !text.empty()) {
    length = parse_duration(text);
    if (!length || length->count() <= 0)
      return answer(failure(400, "bad_data", fmt::format("invalid parameter \"for\": '{}' is not a duration like 30m or 1h", printable(text, 32))));
  }
  const auto now = core.loop.now();
  core.executor.set_mode(wanted == "act" ? config::Mode::act : config::Mode::observe, length, now);
  audit(request, fmt::format("mode is {}", core.executor.mode_text(now)));
  answer(success({{"mode", wanted}, {"mode_text", core.executor.mode_text(now)}, {"hand", core.hand.unavailable()}}));
}

void api_undo(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto& text = request.parameter("id");
  std::uint64_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (fault != std::errc{} || end != text.data() + text.size())
    return answer(failure(400, "bad_data", fmt::format("invalid parameter \"id\": '{}' is not a number; 'rdmendctl remedies' lists them", printable(text, 32))));
  const auto begun = core.executor.undo(id, core.loop.now());
  if (!begun) return answer(failure(409, "refused", begun.error().message));
  audit(request, fmt::format("undo of action {}", id));
  answer(success({{"id", id}, {"text", fmt::format("the undo of action {} has begun; 'rdmendctl remedies' tells how it ends", id)}}));
}

void api_breaker(Core& core, const HttpRequest& request, const Answer& answer) {
  core.executor.reset_breaker(core.loop.now());
  audit(request, "breaker reset");
  answer(success({{"open", core.executor.breaker_open()}, {"text", core.executor.breaker_text()}}));
}

void api_reload(Core& core, const HttpRequest& request, const Answer& answer) {
  audit(request, "reload asked for");
  const auto outcome = core.reload();
  answer({outcome.good ? 200 : 400, outcome.text, "text/plain"});
}

}  // namespace rdmend::daemon
