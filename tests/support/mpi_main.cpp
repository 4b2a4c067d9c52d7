// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/testing/all_ranks.h"
#include "riesz/testing/mpi_listener.h"

namespace riesz::testing {
namespace {

/// Only rank 0 prints and writes reports; an exception leaves the test, and ends the job through run_main.
MpiListener* listen(AllRanks& ranks) {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<::testing::TestEventListener> printer(
      listeners.Release(listeners.default_result_printer()));
  if (Runtime::rank() != 0) {
    printer = nullptr;
    delete listeners.Release(listeners.default_xml_generator());
  }
  auto* listener = new MpiListener(ranks, std::move(printer));
  listeners.Append(listener);
  return listener;
}

int run_all(AllRanks& ranks) {
  int code = RUN_ALL_TESTS();
  if (::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    if (Runtime::rank() == 0) std::fprintf(stderr, "no test was run: the filter matches none\n");
    code = 1;
  }
  for (const std::string& theirs : ranks.gather(std::to_string(code)))
    code = std::max(code, std::stoi(theirs));
  return code;
}

/// Shuffled tests run in one order on all ranks.
void share_seed(AllRanks& ranks) {
  if (::testing::GTEST_FLAG(random_seed) != 0) return;
  const std::string seed = ranks.gather(std::to_string(1 + std::time(nullptr) % 99999)).front();
  ::testing::GTEST_FLAG(random_seed) = std::stoi(seed);
}

int run_tests(int argc, char** argv) {
  ::testing::GTEST_FLAG(catch_exceptions) = false;
  ::testing::GTEST_FLAG(color) = "no";  // mpirun is a terminal to its ranks also where nobody looks on
  ::testing::InitGoogleTest(&argc, argv);
  if (::testing::GTEST_FLAG(list_tests)) return Runtime::rank() == 0 ? RUN_ALL_TESTS() : 0;
  auto ranks = std::make_unique<AllRanks>();
  if (::testing::GTEST_FLAG(shuffle)) share_seed(*ranks);
  MpiListener* listener = listen(*ranks);
  try {
    return run_all(*ranks) == 0 ? 0 : kReported;
  } catch (...) {
    if (!listener->untold().empty()) {
      std::fprintf(stderr, "[rank %d of %d] before the exception:\n%s\n", Runtime::rank(), Runtime::size(),
                   listener->untold().c_str());
    }
    ranks.release();  // NOLINT: to end it would wait for ranks that do not come
    throw;
  }
}

}  // namespace
}  // namespace riesz::testing

// Weak: a linker may take this object for a template's code, also into a program with a main of its own.
[[gnu::weak]] int main(int argc, char** argv) {
  riesz::leave(riesz::run_main(argc, argv, riesz::testing::run_tests));
}
