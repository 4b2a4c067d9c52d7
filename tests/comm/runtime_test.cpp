// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/runtime.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/testing/error.h"

// jemalloc's, where it is linked.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, std::size_t* old_size, void* given,
                                             std::size_t given_size) noexcept;

namespace riesz {
namespace {

TEST(Runtime, KnowsThisProcessInTheJob) {
  EXPECT_TRUE(Runtime::active());
  EXPECT_GE(Runtime::rank(), 0);
  EXPECT_LT(Runtime::rank(), Runtime::size());
}

TEST(Runtime, IsMadeOnce) {
  int argc = 0;
  char** argv = nullptr;

  EXPECT_ERROR(Runtime(argc, argv), "this process has one already", "make a single one, in main");
  EXPECT_TRUE(Runtime::active());
}

TEST(Runtime, GivesAWorkerOneThread) {
  const char* asked = std::getenv("OMP_NUM_THREADS");

  EXPECT_EQ(at::get_num_threads(), asked == nullptr ? 1 : std::stoi(asked));
}

/// This program says nothing of it, so jemalloc gives freed memory back in the end.
TEST(Runtime, LeavesTheAllocatorToTheProgram) {
  if (mallctl == nullptr || std::getenv("MALLOC_CONF") != nullptr) return;
  for (const char* pages : {"opt.dirty_decay_ms", "opt.muzzy_decay_ms"}) {
    ssize_t milliseconds = -1;
    std::size_t size = sizeof milliseconds;
    EXPECT_EQ(mallctl(pages, &milliseconds, &size, nullptr, 0), 0);
    EXPECT_GE(milliseconds, 0) << pages;
  }
}

TEST(Error, BeginsWithTheRank) {
  const std::string prefix = concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] ");

  try {
    throw_error("3 is not 4");
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), prefix + "3 is not 4");
  }
}

TEST(Error, PartsAreEvaluatedOnlyOnFailure) {
  int evaluated = 0;
  const auto part = [&] { return ++evaluated; };

  RIESZ_CHECK(1 + 1 == 2, "never said ", part());
  EXPECT_EQ(evaluated, 0);
  EXPECT_ERROR([&] { RIESZ_CHECK(false, "part ", part(), " of ", 2.5); }(), "part 1 of 2.5");
}

}  // namespace
}  // namespace riesz
