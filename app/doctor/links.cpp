// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "riesz/app/doctor/finding.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/between.h"

namespace riesz::app {
namespace {

constexpr int kRanks = 4;  // pairs of the first few: all pairs of many ranks would take long

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one way, of messages of n floats that go to and fro: the least of three rounds.
double one_way(const Partition& a, const Partition& b, std::int64_t n, int times) {
  const Space X(a, {n}), Y(b, {n});
  const Operator there = between(X, Y), back = between(Y, X);
  Vector x = distribute(X, at::zeros({n}));
  double least = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begin = now();
    for (int i = 0; i < times; ++i) x = back(there(x));
    least = std::min(least, (now() - begin) / (2 * times));
  }
  return least;
}

/// A number of one rank, on all.
double told(double mine, int by) {
  const Partition all = Partition::world();
  return collect("doctor", all, at::full({1}, mine, at::kDouble))[static_cast<std::size_t>(by)]
      .item<double>();
}

Finding link(int a, int b) {
  const Partition world = Partition::world(), A = world.subset({a}), B = world.subset({b});
  const double small = told(one_way(A, B, 256, 50), a);
  const double large = told(one_way(A, B, 1 << 20, 4), a);
  const bool shared =
      told(Runtime::rank() == a && Communicator::world().shares_memory_with(b) ? 1 : 0, a) == 1;
  char text[160];
  std::snprintf(text, sizeof text, "%s, %.0f us for 1 KiB, %.2f GB/s for 4 MiB",
                shared ? "shared memory" : "MPI", small * 1e6, (4 << 20) / large / 1e9);
  return {concat("rank ", a, " to rank ", b), text, ""};
}

}  // namespace

std::vector<Finding> examine_links() {
  std::vector<Finding> findings;
  const int ranks = std::min(Runtime::size(), kRanks);
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) findings.push_back(link(a, b));
  }
  return findings;
}

}  // namespace riesz::app
