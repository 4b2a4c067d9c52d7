// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// How long it takes to build operators, and to plan what one worker does in them, on simulated partitions:
// nothing is communicated. A plan is made from boxes and should not take longer because there are more
// workers elsewhere.
//   plan
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "riesz/primitives/between.h"
#include "riesz/primitives/plan/box_rounds.h"

namespace riesz {
namespace {

double microseconds(int rounds, const std::function<void()>& f) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) f();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / rounds);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void plan(const char* name, int workers, const Space& X, const Space& Y) {
  const Operator A = between(X, Y);
  const std::vector<int>& axes = A.steps().front()->axes();
  const int me = X.partition().world_rank(X.partition().rank());
  const Rounds made = box_rounds(X, Y, axes, me, {});
  const Round& round = made.rounds.front();
  const double building = microseconds(20, [&] { between(X, Y); });
  const double planning = microseconds(20, [&] { box_rounds(X, Y, axes, me, {}); });
  std::printf("%-38s %6d workers: %3zu receivers, %3zu senders; built in %8.1f us, planned in %8.1f us\n",
              name, workers, round.sends.size(), round.receives.size() - (round.stays_at ? 1 : 0), building,
              planning);
}

void plans(int side) {
  const int workers = side * side;
  const Partition grid =
      Partition::simulated(workers, workers / 2 + side / 3).grid({{"a", side}, {"b", side}});
  const Space even = Space(grid, {16 * side, 24 * side}).sharded(0, "a").sharded(1, "b");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(side), 16);
  for (int i = 0; i + 1 < side; i += 2) {
    sizes[static_cast<std::size_t>(i)] += 7;
    sizes[static_cast<std::size_t>(i) + 1] -= 7;
  }
  std::vector<Intervals> needs;
  for (int i = 0; i < side; ++i)
    needs.push_back({{std::max(0, 16 * i - 3), std::min(16 * side, 16 * i + 20)}});
  plan("2-D repartition to sizes of one's own", workers, even,
       Space(grid, {16 * side, 24 * side}).sharded(0, "a", Split::sizes(sizes)).sharded(1, "b"));
  plan("2-D repartition to another grid", workers, even,
       Space(grid.grid({{"c", side / 2}, {"d", 2 * side}}), {16 * side, 24 * side})
           .sharded(0, "c")
           .sharded(1, "d"));
  plan("2-D transposition of the axes", workers, even,
       Space(grid, {16 * side, 24 * side}).sharded(0, "b").sharded(1, "a"));
  plan(
      "2-D halo", workers, even,
      Space(grid, {16 * side, 24 * side}).sharded(0, "a", Split::covering(16 * side, needs)).sharded(1, "b"));
}

void operators() {
  const Partition grid = Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}});
  const Space X = Space(grid, {64, 128}).sharded(0, "dp").sharded(1, "tp");
  const double each = microseconds(10000, [&] {
    between(X, Space(grid, {64, 128}).sharded(0, "dp").copied("tp"));
  });
  const double same = microseconds(10000, [&, Y = X.copied("tp")] { between(X, Y); });
  std::printf("10,000 operators on 8 workers: %.2f us each with their spaces, %.2f us without\n", each, same);
}

}  // namespace
}  // namespace riesz

int main() {
  for (const int side : {8, 32, 128}) riesz::plans(side);
  riesz::operators();
  return 0;
}
