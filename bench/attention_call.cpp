// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of attention on so little that what a call costs beside its arithmetic shows: forward and backward on
// one worker. Prints calls a second, for paired.py.
//   attention_call [none | causal | boolean | added] [positions]
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "riesz/nn/attention/attention.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

constexpr int kCalls = 20000;

void measure(const std::string& mask, std::int64_t positions) {
  const Partition alone = Partition::simulated(1);
  const Space X(alone, {2, positions, 2, 8}), M(alone, {positions, positions});
  const Vector x(X, at::randn(X.shape()).requires_grad_()), ybar(dual(X), at::ones(X.shape()));
  AttentionOptions options{.causal = mask == "causal"};
  if (mask == "boolean") options.mask = Vector(M, at::ones(M.shape(), at::kDouble).tril().gt(0));
  if (mask == "added") options.mask = Vector(M, at::randn(M.shape()));
  const auto calls = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Chain chain;
      pullback(attention(x, x, x, options), ybar, {x});
    }
  };
  calls(kCalls / 10);
  const auto begin = std::chrono::steady_clock::now();
  calls(kCalls);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("calls/s %.0f\n", kCalls / seconds);
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  riesz::measure(argc > 1 ? argv[1] : "boolean", argc > 2 ? std::stoll(argv[2]) : 8);
  return 0;
}
