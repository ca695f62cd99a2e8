// SPDX-License-Identifier: Apache-2.0
// Recovery against a modelled pair of queue pairs, without a kernel, under virtual time: schedules of losses, ghosts, cuts, dying ends and
// lost, late and doubled messages, at random; and systematically, for one workload after the other, all schedules that differ from
// the harmless one in at most so many choices of the protocol. One that fails is made smaller and told.
//   recovery_schedules [--schedules N] [--systematic N] [--seed N] [--only SEED] [--mutants]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <random>

#include "scenarios/recovery/world.hpp"

using namespace rdmend::test;

namespace {

using Choices = std::vector<std::uint8_t>;

struct Options {
  std::uint64_t schedules = 20'000, systematic = 20'000, seed = std::random_device{}(), each = 500, deviations = 2;
  std::optional<std::uint64_t> only;
  bool trace = false, mutants = false;
};
struct Tally {
  unsigned long long schedules = 0, recovered = 0, ended = 0, generations = 0, most = 0;
};
struct Failure {
  std::uint64_t seed = 0;
  Choices choices;
  std::string what;
};

std::string play(Chooser& chooser, bool systematic, bool trace, Mutant mutant, Tally* tally = nullptr) {
  World world(chooser, systematic, trace, mutant);
  auto fault = world.run();
  if (tally != nullptr) {
    ++tally->schedules;
    tally->recovered += world.generations() > 0 && !world.ended() ? 1U : 0U;
    tally->ended += world.ended() ? 1U : 0U;
    tally->generations += world.generations();
    tally->most = std::max<unsigned long long>(tally->most, world.generations());
  }
  return fault;
}

std::optional<Failure> at_random(const Options& o, std::uint64_t schedules, Mutant mutant, Tally& tally) {
  for (std::uint64_t i = 0; i < schedules; ++i) {
    const auto seed = o.only.value_or(o.seed * 1'000'003 + i);
    Chooser chooser(Chooser::Mode::random, seed);
    if (auto fault = play(chooser, false, o.trace, mutant, &tally); !fault.empty()) return Failure{seed, chooser.made, fault};
  }
  return std::nullopt;
}

struct Deviation {
  std::uint32_t at = 0;
  std::uint8_t choice = 0;
};
using Deviations = std::vector<Deviation>;
Choices choices_of(const Deviations& deviations) {
  Choices choices(deviations.empty() ? 0 : deviations.back().at + 1);
  for (const auto& [at, choice] : deviations) choices[at] = choice;
  return choices;
}

// All schedules of one workload with at most o.deviations choices that are not 0, fewer first; of those with as many in an order that
// is mixed, so that o.each of them (0: all) are from everywhere.
std::optional<Failure> systematically(const Options& o, std::uint64_t seed, std::uint64_t most, Mutant mutant, Tally& tally) {
  std::vector<Deviations> level{{}}, next;
  std::mt19937_64 mix(seed);
  const auto until = tally.schedules + most;
  for (std::uint64_t count = 0; count <= o.deviations && !level.empty(); ++count, level = std::exchange(next, {})) {
    std::shuffle(level.begin(), level.end(), mix);
    for (const auto& deviations : level) {
      if (tally.schedules == until) return std::nullopt;
      const auto choices = choices_of(deviations);
      Chooser chooser(Chooser::Mode::given, seed, choices);
      if (auto fault = play(chooser, true, o.trace, mutant, &tally); !fault.empty()) return Failure{seed, chooser.made, fault};
      if (count == o.deviations) continue;
      for (auto at = choices.size(); at < chooser.made.size(); ++at)
        for (std::uint8_t choice = 1; choice < chooser.of[at]; ++choice) {
          next.push_back(deviations);
          next.back().push_back({static_cast<std::uint32_t>(at), choice});
        }
    }
  }
  return std::nullopt;
}
std::optional<Failure> systematically(const Options& o, std::uint64_t schedules, Mutant mutant, Tally& tally) {
  for (std::uint64_t workload = 0; tally.schedules < schedules; ++workload) {
    const std::uint64_t left = schedules - tally.schedules;
    if (auto failure = systematically(o, o.seed * 1'000'003 + workload, o.each == 0 ? left : std::min(left, o.each), mutant, tally)) return failure;
  }
  return std::nullopt;
}

// Sets choices to 0, many and then fewer at a time, as long as the schedule fails with it.
Choices shrunk(std::uint64_t seed, Choices choices, bool systematic) {
  for (auto step = std::max<std::size_t>(1, choices.size() / 2);; step /= 2) {
    for (std::size_t at = 0; at < choices.size(); at += step) {
      auto fewer = choices;
      std::fill(fewer.begin() + static_cast<std::ptrdiff_t>(at), fewer.begin() + static_cast<std::ptrdiff_t>(std::min(at + step, fewer.size())), std::uint8_t{0});
      if (fewer == choices) continue;
      Chooser chooser(Chooser::Mode::given, seed, fewer);
      if (!play(chooser, systematic, false, Mutant::none).empty()) choices = fewer;
    }
    if (step <= 1) break;
  }
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
  return choices;
}

int tell(const Failure& failure, bool systematic) {
  std::printf("schedule of seed %llu fails: %s\n", static_cast<unsigned long long>(failure.seed), failure.what.c_str());
  const auto least = shrunk(failure.seed, failure.choices, systematic);
  Chooser chooser(Chooser::Mode::given, failure.seed, least);
  std::printf("its smallest form has %td choices that do harm:\n", std::count_if(least.begin(), least.end(), [](std::uint8_t c) { return c != 0; }));
  std::printf("%s\n", play(chooser, systematic, true, Mutant::none).c_str());
  return 1;
}

// Each fault that is put in must be seen: else the model could not see it in the protocol either.
int try_mutants(const Options& o) {
  int unseen = 0;
  for (auto m = static_cast<std::uint8_t>(Mutant::none) + 1; m < static_cast<int>(Mutant::count); ++m) {
    const auto mutant = static_cast<Mutant>(m);
    Tally random, ordered;
    auto failure = at_random(o, o.schedules, mutant, random);
    if (!failure) failure = systematically(o, o.systematic, mutant, ordered);
    unseen += failure ? 0 : 1;
    const auto played = static_cast<unsigned long long>(random.schedules + ordered.schedules);
    std::printf("%-28s %s after %llu schedules: %s\n", mutant_name(mutant), failure ? "seen" : "NOT SEEN", played, failure ? failure->what.c_str() : "");
  }
  return unseen == 0 ? 0 : 1;
}

int explore(const Options& o) {
  const auto began = std::chrono::steady_clock::now();
  Tally random, ordered;
  if (const auto failure = at_random(o, o.only ? 1 : o.schedules, Mutant::none, random)) return tell(*failure, false);
  if (const auto failure = systematically(o, o.only ? 0 : o.systematic, Mutant::none, ordered)) return tell(*failure, true);
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (const auto& [name, t] : {std::pair{"random", random}, std::pair{"systematic", ordered}})
    std::printf("%-11s %llu schedules, %llu recovered, %llu ended with an error, %llu generations, at most %llu in one\n", name, t.schedules, t.recovered, t.ended,
                t.generations, t.most);
  std::printf("%.1f s\n", took);
  // A run that recovers nothing proves nothing.
  return random.recovered + ordered.recovered > 0 || o.only ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("recovery against a modelled pair");
  app.add_option("--schedules", o.schedules, "random schedules");
  app.add_option("--systematic", o.systematic, "systematic ones");
  app.add_option("--each", o.each, "systematic ones of each workload, 0 for all");
  app.add_option("--deviations", o.deviations, "choices in which a systematic one differs from the harmless one");
  app.add_option("--seed", o.seed, "of all; random without it");
  app.add_option("--only", o.only, "plays the random schedule of this seed alone");
  app.add_flag("--trace", o.trace, "tells it");
  app.add_flag("--mutants", o.mutants, "tries whether known faults are seen");
  CLI11_PARSE(app, argc, argv);
  fmt::print("recovery_schedules --schedules {} --systematic {} --seed {}{}\n", o.schedules, o.systematic, o.seed, o.mutants ? " --mutants" : "");
  return o.mutants ? try_mutants(o) : explore(o);
}
