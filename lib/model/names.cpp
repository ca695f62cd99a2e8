// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "model/decision.hpp"
#include "model/outcome.hpp"
#include "model/qp.hpp"
#include "model/recovery.hpp"

namespace rdmend {

std::string qp_type_name(std::uint8_t type) {
  static constexpr std::array kNames{"SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6", "RAW_ETHERTYPE", "", "RAW_PACKET", "XRC_INI", "XRC_TGT"};
  if (type == 0xff) return "DRIVER";
  if (type < kNames.size() && *kNames[type] != '\0') return kNames[type];
  return fmt::format("type {}", type);
}

std::string qp_state_name(std::uint8_t state) {
  static constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state < kNames.size() ? kNames[state] : fmt::format("state {}", state);
}

const char* alert_state_name(AlertState state) {
  static constexpr std::array kNames{"inactive", "pending", "firing"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* verdict_name(Verdict verdict) {
  static constexpr std::array kNames{"refused", "dry_run", "started", "succeeded", "ineffective", "failed", "undone", "undo_failed"};
  return kNames[static_cast<std::size_t>(verdict)];
}

const char* recovery_phase_name(RecoveryPhase phase) {
  static constexpr std::array kNames{"running", "asked", "known", "built", "ended"};
  return kNames[static_cast<std::size_t>(phase)];
}

const char* recovery_cause_name(RecoveryCause cause) {
  static constexpr std::array kNames{"none",        "transport",    "receiver_not_ready", "joined", "own_error",        "application",
                                     "device_fatal", "refused",      "gave_up",            "peer",   "other_incarnation", "not_agreed"};
  return kNames[static_cast<std::size_t>(cause)];
}

const char* recovery_refusal_name(RecoveryRefusal refusal) {
  static constexpr std::array kNames{"none", "atomic_executed", "read_overwritten", "memory_window", "no_rq_psn", "psn_window", "psn_foreign", "begun_receive"};
  return kNames[static_cast<std::size_t>(refusal)];
}

}  // namespace rdmend
