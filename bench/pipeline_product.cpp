// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The whole product of what minGPT can be trained with on a pipeline, against one worker: stages x dp x tp of
// as many ranks as it is started on, every synchronous schedule, recompute, ZeRO, runs of a step, tied
// weights or not; the loss of each step, every gradient, and every weight after the last. tests/pipeline runs
// a few of them, in which every pair of values occurs. It prints a line for each course that fails, and a
// count.
//   mpirun -n RANKS pipeline_product [--steps 5] [--from 0] [--stride 1] [--seconds 540]
// What is left when the time is over goes on with --from.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "product.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/all_ranks.h"

namespace riesz::testing {
namespace {

struct Options {
  int steps = 5;
  std::size_t from = 0;
  std::size_t stride = 1;
  double seconds = 540;
};

std::vector<PlacedCourse> courses_here(int steps) {
  std::vector<PlacedCourse> here;
  for (const Choice& choice : all_courses(4)) {
    if (ranks_of(choice) != Runtime::size()) continue;
    here.push_back(course_of(choice));
    here.back().steps = steps;
  }
  return here;
}

/// What is wrong with a course, on this worker; empty: nothing.
std::string wrong_with(const PlacedCourse& course, const TrainingRun& reference) {
  try {
    const auto same = compare_runs(train_placed(course), reference);
    return same ? "" : same.message();
  } catch (const std::exception& error) {
    std::printf("%s\n  throws on rank %d\n", to_string(course).c_str(), Runtime::rank());
    std::fflush(stdout);
    throw;
  }
}

int all(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const std::vector<PlacedCourse> courses = courses_here(options.steps);
  PlacedCourse one;
  one.micro_batches = 1;
  one.steps = options.steps;
  const TrainingRun untied = train_alone(one);
  one.config.tied = true;
  const TrainingRun tied = train_alone(one);
  AllRanks ranks;
  std::size_t next = options.from;
  int done = 0, failed = 0;
  for (bool over = false; next < courses.size() && !over; next += options.stride) {
    const PlacedCourse& course = courses[next];
    const std::string mine = wrong_with(course, course.config.tied ? tied : untied);
    const bool late = Runtime::rank() == 0 && seconds() > options.seconds;
    std::string wrong;
    const std::vector<std::string> texts = ranks.gather((late ? "late" : "in time") + ("\n" + mine));
    for (const std::string& text : texts) {
      const std::size_t line = text.find('\n');
      over = over || text.substr(0, line) == "late";
      if (wrong.empty()) wrong = text.substr(line + 1);
    }
    ++done;
    if (wrong.empty()) continue;
    ++failed;
    if (Runtime::rank() == 0)
      std::printf("course %zu fails: %s\n%s\n", next, to_string(course).c_str(), wrong.c_str());
  }
  if (Runtime::rank() == 0)
    std::printf("%d ranks, %d steps: %d courses of %zu in %.0f s, %d failed; next is --from %zu\n",
                Runtime::size(), options.steps, done, courses.size(), seconds(), failed, next);
  return failed == 0 ? 0 : 1;
}

int read_and_run(int argc, char** argv) {
  Options options;
  CLI::App app("The whole product of pipelines against one worker");
  app.add_option("--steps", options.steps);
  app.add_option("--from", options.from);
  app.add_option("--stride", options.stride);
  app.add_option("--seconds", options.seconds);
  CLI11_PARSE(app, argc, argv);
  return all(options);
}

}  // namespace
}  // namespace riesz::testing

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::testing::read_and_run); }
