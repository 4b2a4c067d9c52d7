// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that pass over memory once, beside the chains of operators in whose place they are: dropout,
// rotary, and the gradient of an embedding's table. Prints the kernel's bandwidth in per cent of that of a
// copy, counting the bytes that it has to read and write, and the chain's time / the kernel's: medians and
// spread of rounds in which copy, chain and kernel run in turn.
//   draws [rows of 1024 numbers] [rounds] [threads]
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/layers/added_rows.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/dropped.h"

namespace riesz {
namespace {

constexpr std::int64_t kWidth = 1024, kHeadWidth = 64;

double seconds(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double middle(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

struct Compared {
  const char* name;
  double bytes;  // to read and to write
  std::function<void()> kernel, chain;
};

void compare(const Compared& one, const at::Tensor& x, int rounds) {
  const at::Tensor y = at::empty_like(x);
  const double copied = 2 * static_cast<double>(x.nbytes());
  std::vector<double> shares, ratios;
  for (int round = 0; round < rounds + 2; ++round) {
    const double copy = seconds([&] { y.copy_(x); });
    const double kernel = seconds(one.kernel), chain = seconds(one.chain);
    if (round < 2) continue;
    shares.push_back(100 * (one.bytes / kernel) / (copied / copy));
    ratios.push_back(chain / kernel);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%-28s %5.0f %% of a copy, chain/kernel %.2f (%.2f to %.2f)\n", one.name, middle(shares),
              middle(ratios), *least, *most);
}

at::Tensor turned_by_operators(const at::Tensor& x, const detail::RotaryTurns& turns) {
  const at::Tensor all = x.to(at::kFloat), pairs = all.unflatten(-1, {2, kHeadWidth / 2});
  const at::Tensor a = pairs.select(-2, 0), b = pairs.select(-2, 1);
  return at::stack({a.mul(turns.cosine).sub(b.mul(turns.sine)), b.mul(turns.cosine).add(a.mul(turns.sine))},
                   -2)
      .flatten(-2)
      .to(x.scalar_type());
}

void measure(std::int64_t rows, int rounds, at::ScalarType type) {
  const at::NoGradGuard no_gradients;
  const at::Tensor x = at::randn({rows, kWidth}).to(type);
  const auto bytes = static_cast<double>(x.nbytes());
  std::printf("%s, %.1f MiB\n", at::toString(type), bytes / (1 << 20));
  const detail::DropoutDraws draws{{rows, kWidth}, {{{0, rows}}, {{0, kWidth}}}, 42, 1, 0.1};
  compare({"dropout", 2 * bytes, [&] { detail::dropped(x, draws); },
           [&] { x.mul(detail::dropout_mask(draws, x.options())); }},  // by the same draws
          x, rounds);
  const at::Tensor heads = x.view({1, rows, kWidth / kHeadWidth, kHeadWidth});
  const RotaryOptions options{.dims = kHeadWidth, .pairs = RotaryPairs::halves};
  const detail::RotaryTurns turns = detail::rotary_turns({{0, rows}}, options, at::dtype(at::kFloat));
  compare({"rotary", 2 * bytes, [&] { detail::turned(heads, turns, options.pairs); },
           [&] { turned_by_operators(heads, turns); }},
          x, rounds);
  const at::Tensor ids = at::randint(rows, {rows}, at::kLong), sums = at::empty_like(x);
  compare({"gradient of an embedding", 3 * bytes,  // zeros are written first
           [&] { detail::add_rows(x, ids, sums.zero_()); },
           [&] { at::embedding_backward(x, ids, rows, -1, false, false); }},
          x, rounds);
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  const auto number = [&](int i, long long otherwise) { return argc > i ? std::stoll(argv[i]) : otherwise; };
  at::set_num_threads(static_cast<int>(number(3, 1)));
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    riesz::measure(number(1, 8192), static_cast<int>(number(2, 15)), type);
  return 0;
}
