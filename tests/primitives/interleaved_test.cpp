// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Random programs in several channels and threads, with calls at once, in two halves, and dropped, forward
// and backward. Each is recorded and verified first, and only then run; variants in which one worker does
// something else are refused.
#include "interleaved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "channel_run.h"
#include "random_program.h"
#include "rehearsal.h"
#include "riesz/comm/failure_note.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/untaken.h"
#include "riesz/testing/recorded.h"
#include "riesz/verify/waiting.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 60;

/// So many seeds on eight workers and fewer on others, or as many as RIESZ_DRAWS says.
int draws(int count) {
  const char* draws = std::getenv("RIESZ_DRAWS");
  return draws != nullptr ? std::atoi(draws) : std::max(1, Runtime::size() == 8 ? count : count / 2);
}

Turns turns_of(std::uint64_t seed) {
  return seed % 3 == 0 ? Turns::alike : seed % 3 == 1 ? Turns::apart : Turns::wild;
}

Recording recorded_of(const InterleavedProgram& program, int rank) {
  return recorded_as(rank, static_cast<int>(program.acts.size()), [&] {
    auto channels = channels_of(program);
    carry_out(program, rank, channels);
  });
}

std::vector<Recording> recorded_of(const InterleavedProgram& program) {
  std::vector<Recording> all;
  for (int rank = 0; rank < static_cast<int>(program.acts.size()); ++rank)
    all.push_back(recorded_of(program, rank));
  return all;
}

Waiting followed(const std::vector<Recording>& all, std::int64_t untaken) {
  const Matching matching = match(all, each_its_own());
  EXPECT_TRUE(matching.faults.empty()) << to_string(matching.faults.front());
  return matching.faults.empty() ? follow(all, each_its_own(), matching, untaken == 0 ? kAll : untaken)
                                 : Waiting{};
}

/// The first worker verifies, and tells the others.
bool verified(const InterleavedProgram& program) {
  const bool ends = Runtime::rank() == 0 && followed(recorded_of(program), program.untaken).ends;
  return sum_of_all(ends ? 1 : 0) > 0;
}

/// While it lives: a limit of what is sent and not taken, and what is said where the job ends.
class Running {
 public:
  explicit Running(const InterleavedProgram& program) {
    set_most_untaken(program.untaken);
    set_failure_note([seed = program.seed] { return "replay with RIESZ_SEED=" + std::to_string(seed); });
  }
  ~Running() {
    set_failure_note({});
    set_most_untaken(before_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::int64_t before_ = most_untaken();
};

TEST(ProgramsInChannels, ThatAreVerifiedKeepTheVectorMeantThereAndBack) {
  int run = 0, refused = 0;
  for_each_seed(draws(12), [&](std::uint64_t seed) {
    const InterleavedProgram program = interleaved_program(seed, Runtime::size(), turns_of(seed));
    if (!verified(program)) {
      EXPECT_TRUE(program.untaken > 0 || turns_of(seed) == Turns::wild) << "it waits in no circle";
      ++refused;
      return;
    }
    ++run;
    auto channels = channels_of(program);
    {
      const Running now(program);
      carry_out(program, Runtime::rank(), channels);
      sum_of_all(0);  // all have sent all
    }
    for (const auto& channel : channels) channel->expect_meaning();
  });
  if (Runtime::rank() == 0 && std::getenv("RIESZ_DRAWS") != nullptr)
    std::printf("%d programs run, %d refused\n", run, refused);
}

TEST(ProgramsOnPaper, ThatAreVerifiedComeToTheirEndsInAnyOrder) {
  int accepted = 0, refused = 0;
  for_each_seed(draws(60), [&](std::uint64_t seed) {
    const InterleavedProgram program =
        interleaved_program(seed, 2 + static_cast<int>(seed % 7), turns_of(seed));
    const std::vector<Recording> all = recorded_of(program);
    const Waiting waiting = followed(all, program.untaken);
    for (std::uint64_t order = 0; order < 4; ++order) {
      const bool ends = comes_to_its_end(all, program.untaken, 10 * seed + order);
      EXPECT_TRUE(ends || !waiting.ends) << "verified, and yet it does not come to its end";
      if (program.untaken == 0) {
        EXPECT_EQ(ends, waiting.ends) << to_string(waiting.circle);
      }
    }
    EXPECT_EQ(waiting.ends, waiting.circle.empty());
    ++(waiting.ends ? accepted : refused);
  });
  if (std::getenv("RIESZ_SEED") != nullptr) return;
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(ProgramsOnPaper, InWhichOneWorkerDoesSomethingElseAreRefused) {
  int in_other_moves = 0, in_a_circle = 0;
  for_each_seed(draws(60), [&](std::uint64_t seed) {
    const InterleavedProgram program =
        interleaved_program(seed, 2 + static_cast<int>(seed % 7), Turns::alike);
    std::vector<Recording> all = recorded_of(program);
    for (std::uint64_t change = 0; change < 4; ++change) {
      const BrokenProgram other = broken(program, 10 * seed + change);
      SCOPED_TRACE(other.what);
      Recording& changed = all[static_cast<std::size_t>(other.rank)];
      const Recording right = changed;
      changed = recorded_of(other.program, other.rank);
      const Matching matching = match(all, each_its_own());

      EXPECT_EQ(matching.faults.empty(), all_messages_meet(all));
      if (matching.faults.empty()) {
        const Waiting waiting = follow(all, each_its_own(), matching, kAll);
        EXPECT_EQ(waiting.ends, comes_to_its_end(all, 0, seed)) << to_string(waiting.circle);
        in_a_circle += waiting.ends ? 0 : 1;
      } else {
        ++in_other_moves;
      }
      changed = right;
    }
  });
  if (std::getenv("RIESZ_SEED") != nullptr) return;
  EXPECT_GT(in_other_moves, 0);
  EXPECT_GT(in_a_circle, 0);
}

}  // namespace
}  // namespace riesz::testing
