// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

namespace rdmend::test {

// Faults that are put in between the core and the device, to see that the judge sees them.
enum class Mutant : std::uint8_t {
  none,
  replays_blindly,             // what was executed too
  straddling_is_executed,
  replays_the_whole,           // of a WRITE that straddles
  forgets_begun_receive,
  psn_half_ring_ahead,
  psn_again,                   // the new life has PSNs of the old one
  any_life,                    // the PSN told is believed to be of our life
  believes_passing_psn,        // judges by what was told in ASKED
  stale_generation,            // believes messages of earlier generations
  does_not_wait,               // completes what was executed behind a READ that is replayed
  tells_swallowed,             // completions that the application did not ask for
  reads_what_was_overwritten,
  adds_twice,
  drops_drained,               // RESET without emptying the queues first
  never_gives_up,
  holds_what_was_not_agreed,
  loses_the_error,             // hands out a flush in place of the original error
  count
};
inline const char* mutant_name(Mutant mutant) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Mutant::count)> kNames{
      "none",
      "replays_blindly",
      "straddling_is_executed",
      "replays_the_whole",
      "forgets_begun_receive",
      "psn_half_ring_ahead",
      "psn_again",
      "any_life",
      "believes_passing_psn",
      "stale_generation",
      "does_not_wait",
      "tells_swallowed",
      "reads_what_was_overwritten",
      "adds_twice",
      "drops_drained",
      "never_gives_up",
      "holds_what_was_not_agreed",
      "loses_the_error",
  };
  return kNames[static_cast<std::size_t>(mutant)];
}

}  // namespace rdmend::test
