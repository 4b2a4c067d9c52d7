// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Everything on the tests' pretend device, which is as late as a GPU, beside the same on the CPU: operators,
// layers, attention, losses; models at every layout; optimizers and ZeRO; every schedule; texts, checkpoints.
// tests/device runs some of it, in which every pair of values occurs. It prints a line for each case, and the
// counts. The status is not 0 if a case differs, or reads on the host in its third step.
//   mpirun -n 1|2|4 late_device [--lateness random] [--seed 7] [--only TEXT] [--from 0] [--stride 1]
//   [--seconds S]
// What is left when the time is over goes on with --from.
#include <c10/core/StreamGuard.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "late_device/cases.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/all_ranks.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

struct Options {
  std::string lateness = "random";
  std::string seed = "7";
  std::string only;
  std::size_t from = 0;
  std::size_t stride = 1;
  double seconds = 1e9;
};

std::vector<Case> all_cases(const Options& options) {
  std::vector<Case> all;
  for (const auto& some : {operator_cases(), layer_cases(), training_cases(), updating_cases(),
                           generation_cases(), checkpoint_cases()}) {
    for (const Case& each : some) {
      if (each.name.find(options.only) != std::string::npos) all.push_back(each);
    }
  }
  return all;
}

/// In a stream of its own, not the default one, which threads have that were told nothing.
Outcome outcome_of(const Case& one) {
  const c10::StreamGuard in(
      c10::impl::VirtualGuardImpl(pretend_device().type()).getNewStream(pretend_device()));
  try {
    Outcome outcome = one.run();
    finish_pretend_work();
    return outcome;
  } catch (const std::exception&) {
    std::printf("%s\n  throws on rank %d with %s\n", one.name.c_str(), Runtime::rank(),
                lateness_text().c_str());
    std::fflush(stdout);
    throw;
  }
}

/// What is wrong, in words, and how often it read; "-": it has no steps.
std::pair<std::string, std::string> in_words(const Outcome& outcome) {
  if (!outcome.reads) return {outcome.differs, "-"};
  std::string wrong = outcome.differs;
  std::int64_t count = 0;
  for (const auto& [what, times] : *outcome.reads) {
    wrong += concat("\n  reads: ", what, ", ", times, " times");
    count += times;
  }
  return {wrong, std::to_string(count)};
}

int run_all(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const std::vector<Case> cases = all_cases(options);
  if (options.from >= cases.size()) {
    if (Runtime::rank() == 0)
      std::fprintf(stderr, "late_device: --only %s --from %zu: there are %zu such cases\n",
                   options.only.c_str(), options.from, cases.size());
    return 2;
  }
  AllRanks ranks;
  std::size_t next = options.from;
  int done = 0, failed = 0;
  for (bool over = false; next < cases.size() && !over; next += options.stride) {
    const auto [mine, reads] = in_words(outcome_of(cases[next]));
    const bool late = Runtime::rank() == 0 && seconds() > options.seconds;
    std::string wrong;
    for (const std::string& text : ranks.gather((late ? "late" : "in time") + ("\n" + mine))) {
      const std::size_t line = text.find('\n');
      over = over || text.substr(0, line) == "late";
      if (wrong.empty()) wrong = text.substr(line + 1);
    }
    ++done;
    failed += wrong.empty() ? 0 : 1;
    if (Runtime::rank() != 0) continue;
    std::printf("%5zu %s  reads %s  %s\n", next, wrong.empty() ? "ok     " : "DIFFERS", reads.c_str(),
                cases[next].name.c_str());
    if (!wrong.empty()) std::printf("      %s\n", wrong.c_str());
    std::fflush(stdout);
  }
  if (Runtime::rank() == 0)
    std::printf("%d ranks, %s: %d cases of %zu in %.0f s, %d failed%s\n", Runtime::size(),
                lateness_text().c_str(), done, cases.size(), seconds(), failed,
                next < cases.size() ? ("; next is --from " + std::to_string(next)).c_str() : "");
  return failed == 0 ? 0 : 1;
}

/// The device reads the environment when it is first used, so before anything else.
int run_with(const Options& options) {
  setenv("RIESZ_PRETEND_SEED", options.seed.c_str(), 1);
  if (options.lateness != "all") {
    setenv("RIESZ_PRETEND_LATENESS", options.lateness.c_str(), 1);
    return run_all(options);
  }
  int status = 0;
  for (const Lateness each : {Lateness::soonest, Lateness::random, Lateness::latest}) {
    const LatenessScope scope(each);
    status = std::max(status, run_all(options));
  }
  return status;
}

int read_and_run(int argc, char** argv) {
  Options options;
  CLI::App app("Everything on the pretend device, beside the CPU");
  app.add_option("--lateness", options.lateness)
      ->check(CLI::IsMember({"soonest", "random", "latest", "all"}));
  app.add_option("--seed", options.seed);
  app.add_option("--only", options.only);
  app.add_option("--from", options.from);
  app.add_option("--stride", options.stride);
  app.add_option("--seconds", options.seconds);
  CLI11_PARSE(app, argc, argv);
  return run_with(options);
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::testing::read_and_run); }
