// SPDX-License-Identifier: Apache-2.0
#include "rdmend/units.hpp"

#include <fmt/format.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/text.hpp"

namespace rdmend::daemon {
namespace {

using remedies::UnitState;

constexpr const char* kManagerName = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManagerInterface = "org.freedesktop.systemd1.Manager";
constexpr const char* kUnitInterface = "org.freedesktop.systemd1.Unit";
constexpr std::size_t kMostDependants = 256;  // units that would stop with a unit, looked through for our own
constexpr std::size_t kMostMessage = 512;

struct CloseBus {
  void operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }
};
struct EndSlot {
  void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
struct EndMessage {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
struct FreeText {
  void operator()(char* text) const { std::free(text); }
};
using Message = std::unique_ptr<sd_bus_message, EndMessage>;

struct BusError {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  BusError() = default;
  ~BusError() { sd_bus_error_free(&error); }
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  [[nodiscard]] bool is(const char* name) const { return sd_bus_error_has_name(&error, name) != 0; }
};

// A refusal for want of rights is told as such, for it has another cure than all else.
Error told(const std::string& what, const BusError& said, int code) {
  const auto text = said.error.message != nullptr ? printable(said.error.message, kMostMessage) : std::string(std::strerror(-code));
  const bool refused = said.is(SD_BUS_ERROR_ACCESS_DENIED) || said.is(SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) ||
                       said.is(SD_BUS_ERROR_AUTH_FAILED) || code == -EACCES || code == -EPERM;
  if (!refused) return {fmt::format("{}: {}", what, text), -code};
  return {fmt::format("{} is not permitted: {} (a polkit rule has to allow org.freedesktop.systemd1.manage-units to rdmend's user)", what, text), EACCES};
}

// One connection to the manager, and the time by which all that is asked over it has to be answered.
class ManagerLink {
 public:
  static Result<ManagerLink> open(milliseconds deadline) {
    ManagerLink link;
    link.end_ = std::chrono::steady_clock::now() + deadline;
    sd_bus* bus = nullptr;
    if (const int r = sd_bus_open_system(&bus); r < 0) return errno_error("the system bus cannot be reached", -r);
    link.bus_.reset(bus);
    if (const int r = link.wait_until_ready(); r < 0) return errno_error("the system bus does not answer", -r);
    return link;
  }

  // The object of a unit, which is loaded for it.
  Result<std::string> load(const std::string& unit) {
    BusError error;
    sd_bus_message* raw = nullptr;
    limit();
    int r = sd_bus_call_method(bus_.get(), kManagerName, kManagerPath, kManagerInterface, "LoadUnit", &error.error, &raw, "s", unit.c_str());
    const Message reply(raw);
    const char* path = nullptr;
    if (r >= 0) r = sd_bus_message_read(raw, "o", &path);
    if (r < 0) return told("looking at " + unit, error, r);
    return std::string(path);
  }

  Result<std::string> text(const std::string& path, const char* name) {
    BusError error;
    char* raw = nullptr;
    limit();
    const int r = sd_bus_get_property_string(bus_.get(), kManagerName, path.c_str(), kUnitInterface, name, &error.error, &raw);
    const std::unique_ptr<char, FreeText> owned(raw);
    if (r < 0) return told(fmt::format("reading {} of a unit", name), error, r);
    return std::string(raw);
  }

  Result<bool> flag(const std::string& path, const char* name) {
    BusError error;
    int value = 0;
    limit();
    const int r = sd_bus_get_property_trivial(bus_.get(), kManagerName, path.c_str(), kUnitInterface, name, &error.error, 'b', &value);
    if (r < 0) return told(fmt::format("reading {} of a unit", name), error, r);
    return value != 0;
  }

  Result<std::vector<std::string>> list(const std::string& path, const char* name) {
    BusError error;
    char** raw = nullptr;
    limit();
    const int r = sd_bus_get_property_strv(bus_.get(), kManagerName, path.c_str(), kUnitInterface, name, &error.error, &raw);
    if (error.is(SD_BUS_ERROR_UNKNOWN_PROPERTY)) return std::vector<std::string>{};  // an older systemd
    if (r < 0) return told(fmt::format("reading {} of a unit", name), error, r);
    std::vector<std::string> out;
    for (char** item = raw; item != nullptr && *item != nullptr; ++item) {
      out.emplace_back(*item);
      std::free(*item);
    }
    std::free(raw);
    return out;
  }

  // 16 bytes in hex, "" where there is none.
  Result<std::string> invocation(const std::string& path) {
    BusError error;
    sd_bus_message* raw = nullptr;
    limit();
    int r = sd_bus_get_property(bus_.get(), kManagerName, path.c_str(), kUnitInterface, "InvocationID", &error.error, &raw, "ay");
    const Message reply(raw);
    const void* bytes = nullptr;
    std::size_t size = 0;
    if (r >= 0) r = sd_bus_message_read_array(raw, 'y', &bytes, &size);
    if (r < 0) return told("reading InvocationID of a unit", error, r);
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 16); ++i) out += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
    return out;
  }

  // The object of the job that restarts the unit.
  Result<std::string> restart_job(const std::string& unit, const char* mode, BusError& error) {
    sd_bus_message* raw = nullptr;
    limit();
    int r = sd_bus_call_method(bus_.get(), kManagerName, kManagerPath, kManagerInterface, "RestartUnit", &error.error, &raw, "ss", unit.c_str(), mode);
    const Message reply(raw);
    const char* job = nullptr;
    if (r >= 0) r = sd_bus_message_read(raw, "o", &job);
    if (r < 0) return told("restarting " + unit, error, r);
    return std::string(job);
  }

  // Restarts it and waits for how the job ended: "done", "failed", "timeout" and the like.
  Result<std::string> restart(const std::string& unit) {
    Ending ending;
    sd_bus_slot* raw = nullptr;
    limit();
    int r = sd_bus_match_signal(bus_.get(), &raw, kManagerName, kManagerPath, kManagerInterface, "JobRemoved", on_job_removed, &ending);
    const std::unique_ptr<sd_bus_slot, EndSlot> slot(raw);
    BusError error;
    limit();
    if (r >= 0) r = sd_bus_call_method(bus_.get(), kManagerName, kManagerPath, kManagerInterface, "Subscribe", &error.error, nullptr, "");
    if (r < 0) return told("asking systemd to tell of its jobs", error, r);
    auto job = restart_job(unit, "replace", error);
    if (!job) return job.error();
    ending.job = *job;
    while (ending.result.empty()) {
      r = turn();
      if (r == -ETIMEDOUT) return Error{fmt::format("the restart of {} did not end in time; systemd goes on with it", unit), ETIMEDOUT};
      if (r < 0) return errno_error("the connection to systemd was lost while " + unit + " was restarted", -r);
    }
    return ending.result;
  }

 private:
  struct Ending {
    std::string job, result;
  };
  static int on_job_removed(sd_bus_message* message, void* data, sd_bus_error*) {
    auto& ending = *static_cast<Ending*>(data);
    std::uint32_t id = 0;
    const char *job = nullptr, *unit = nullptr, *result = nullptr;
    if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) >= 0 && ending.job == job) ending.result = result;
    return 0;
  }
  // At least one: zero would stand for the library's own default.
  [[nodiscard]] std::uint64_t left_us() const {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end_ - std::chrono::steady_clock::now()).count();
    return left < 1 ? 1 : static_cast<std::uint64_t>(left);
  }
  // The library would wait for the bus to let us in for as long as it likes.
  int wait_until_ready() {
    int ready = 0;
    while ((ready = sd_bus_is_ready(bus_.get())) == 0)
      if (const int r = turn(); r < 0) return r;
    return ready;
  }
  // Does what has come, or waits for more; -ETIMEDOUT when the time is over.
  int turn() {
    int r = sd_bus_process(bus_.get(), nullptr);
    if (r == 0 && left_us() <= 1) return -ETIMEDOUT;
    if (r == 0) r = sd_bus_wait(bus_.get(), left_us());
    return r == -EINTR ? 0 : r;
  }
  void limit() { sd_bus_set_method_call_timeout(bus_.get(), left_us()); }

  std::unique_ptr<sd_bus, CloseBus> bus_;
  std::chrono::steady_clock::time_point end_;
};

// Does `own` stop when `unit` stops? What requires a unit stops with it, and what requires that, and so on.
Result<bool> takes_along(ManagerLink& link, const std::string& unit, const std::string& own) {
  std::vector<std::string> known{unit};
  for (std::size_t next = 0; next < known.size(); ++next) {
    if (known[next] == own) return true;
    const auto path = link.load(known[next]);
    if (!path) return path.error();
    for (const char* relation : {"RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo"}) {
      const auto names = link.list(*path, relation);
      if (!names) return names.error();
      for (const auto& name : *names)
        if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
    if (std::find(known.begin(), known.end(), own) != known.end()) return true;
    if (known.size() > kMostDependants) return Error{fmt::format("more than {} units would stop with {}", kMostDependants, unit)};
  }
  return false;
}

Result<UnitState> look_at(ManagerLink& link, const std::string& unit) {
  const auto path = link.load(unit);
  if (!path) return path.error();
  UnitState out;
  for (const auto& [name, field] : {std::pair{"Id", &UnitState::id}, {"LoadState", &UnitState::load_state}, {"ActiveState", &UnitState::active_state}, {"SubState", &UnitState::sub_state}}) {
    auto value = link.text(*path, name);
    if (!value) return value.error();
    out.*field = std::move(*value);
  }
  auto invocation = link.invocation(*path);
  if (!invocation) return invocation.error();
  out.invocation = std::move(*invocation);
  for (const char* name : {"RefuseManualStart", "RefuseManualStop"}) {
    const auto refuses = link.flag(*path, name);
    if (!refuses) return refuses.error();
    out.by_hand = out.by_hand && !*refuses;
  }
  return out;
}

Result<UnitState> look_job(const std::string& unit, const std::string& own, milliseconds deadline) {
  auto link = ManagerLink::open(deadline);
  if (!link) return link.error();
  auto state = look_at(*link, unit);
  if (!state || own.empty() || state->load_state != "loaded") return state;
  const auto along = takes_along(*link, state->id, own);
  if (!along) return along.error();
  state->takes_rdmend_along = *along;
  return state;
}

// systemd asks polkit before it looks whether the job can be: a restart in a mode that is for stops alone is the question
// without the deed. (A systemd that knows no such mode says so at once; then the restart itself tells.)
Result<void> permission_job(const std::string& unit, milliseconds deadline) {
  auto link = ManagerLink::open(deadline);
  if (!link) return link.error();
  BusError error;
  const auto job = link->restart_job(unit, "triggering", error);
  if (job || error.is(SD_BUS_ERROR_INVALID_ARGS)) return {};
  return job.error();
}

Result<UnitState> restart_job(const std::string& unit, milliseconds deadline) {
  auto link = ManagerLink::open(deadline);
  if (!link) return link.error();
  const auto result = link->restart(unit);
  if (!result) return result.error();
  if (*result != "done") return Error{fmt::format("the restart of {} has ended with '{}'", unit, printable(*result, kMostMessage))};
  return look_at(*link, unit);
}

}  // namespace

std::string own_unit() {
  char* raw = nullptr;
  if (sd_pid_get_unit(0, &raw) < 0) return {};
  const std::unique_ptr<char, FreeText> owned(raw);
  return raw;
}

SystemdUnits::SystemdUnits(Reactor& reactor, std::string own) : reactor_(reactor), own_(std::move(own)), looks_(reactor, "units"), restarts_(reactor, "unit-restart") {}

template <class Outcome>
void SystemdUnits::submit(Worker& worker, std::function<Outcome()> job, std::function<void(Outcome)> done) {
  const bool taken = worker.submit([job = std::move(job), done]() -> std::function<void()> {
    return [outcome = job(), done] { done(outcome); };
  });
  if (!taken) reactor_.post([done = std::move(done)] { done(Error{"too much is asked of systemd already"}); });
}

void SystemdUnits::look(std::string unit, milliseconds deadline, std::function<void(Result<UnitState>)> done) {
  submit<Result<UnitState>>(looks_, [unit = std::move(unit), own = own_, deadline] { return look_job(unit, own, deadline); }, std::move(done));
}

void SystemdUnits::may_restart(std::string unit, milliseconds deadline, std::function<void(Result<void>)> done) {
  submit<Result<void>>(looks_, [unit = std::move(unit), deadline] { return permission_job(unit, deadline); }, std::move(done));
}

void SystemdUnits::restart(std::string unit, milliseconds deadline, std::function<void(Result<UnitState>)> done) {
  submit<Result<UnitState>>(restarts_, [unit = std::move(unit), deadline] { return restart_job(unit, deadline); }, std::move(done));
}

}  // namespace rdmend::daemon
