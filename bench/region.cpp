// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a region costs beside being computed again: forward and backward of a row of tiny functions, called
// plainly, and as regions. The difference, less what a function takes forward, is the region's own.
//   region
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

constexpr int kInARow = 200, kTimes = 31;

Vector tiny(const Vector& x) { return 0.5 * (x + x * x); }

/// Microseconds of one of them: forward, and forward and backward; the middle of many times.
template <typename Call>
std::pair<double, double> microseconds(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const Space X(Partition::world().subset({Runtime::rank()}), {4});
  const Vector x(X, at::full({4}, 0.5, at::kDouble).requires_grad_());
  std::vector<double> forward, both;
  for (int time = 0; time < kTimes; ++time) {
    Chain chain;
    const auto begin = Clock::now();
    Vector y = x;
    for (int i = 0; i < kInARow; ++i) y = call(y);
    const auto middle = Clock::now();
    backward(y, Vector(dual(X), at::ones({4}, at::kDouble)));
    const auto end = Clock::now();
    forward.push_back(std::chrono::duration<double, std::micro>(middle - begin).count() / kInARow);
    both.push_back(std::chrono::duration<double, std::micro>(end - begin).count() / kInARow);
  }
  std::nth_element(forward.begin(), forward.begin() + kTimes / 2, forward.end());
  std::nth_element(both.begin(), both.begin() + kTimes / 2, both.end());
  return {forward[kTimes / 2], both[kTimes / 2]};
}

int measure(int, char**) {
  const auto plain = microseconds(tiny);
  const auto again = microseconds([](const Vector& x) { return recompute(tiny, x); });
  std::printf(
      "a tiny function: forward %.1f us, with backward %.1f us; as a region %.1f us: its own %.1f us\n",
      plain.first, plain.second, again.second, again.second - plain.second - plain.first);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::measure); }
