// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels on tensors of more than 2^31 elements, in bf16: y and the gradient of x in the last rows must be
// those of a call on these rows alone, bit for bit. Needs 17 GiB of memory, or less with --elements.
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/riesz.h"

namespace riesz {
namespace {

constexpr std::int64_t kTail = 5;  // rows that are compared
constexpr std::int64_t kHeadWidth = 64;

Vector one_worker(const at::Tensor& x) { return {Space(Partition::world(), x.sizes().vec()), x}; }

/// Random rows over and over: a tensor of `rows` rows of `width`.
at::Tensor rows_of(std::int64_t rows, std::int64_t width) {
  at::Tensor x = at::ones({rows, width}, at::kBFloat16);
  const at::Tensor some = at::randn({1021, width}).to(at::kBFloat16);  // a prime: no two cuts see the same
  for (std::int64_t at = 0; at < rows; at += some.size(0)) {
    const std::int64_t n = std::min(some.size(0), rows - at);
    x.narrow(0, at, n).copy_(some.narrow(0, 0, n));
  }
  return x;
}

struct Outcome {
  at::Tensor y, gradient;
};

using Function = std::function<at::Tensor(const at::Tensor&)>;

at::Tensor last_rows(const at::Tensor& x) { return x.narrow(0, x.size(0) - kTail, kTail); }

/// The last rows of f(x), if it has rows, and of its gradient for ȳ = y, or 1.
Outcome outcome(const Function& f, const at::Tensor& x) {
  const Chain chain;
  const at::Tensor leaf = x.detach().requires_grad_();
  at::Tensor y = f(leaf);
  const at::Tensor ybar = y.dim() == 0 ? at::ones_like(y) : y.detach();
  const at::Tensor gradient = torch::autograd::grad({y}, {leaf}, {ybar})[0];
  return {y.dim() == 0 ? at::Tensor() : last_rows(y.detach()).clone(), last_rows(gradient).clone()};
}

void expect_equal(const char* name, const Outcome& a, const Outcome& b) {
  RIESZ_CHECK(!a.y.defined() || at::equal(a.y, b.y), name, ": the values of the last rows differ");
  RIESZ_CHECK(at::equal(a.gradient, b.gradient), name, ": the gradients of the last rows differ");
  std::printf("%-14s equal\n", name);
  std::fflush(stdout);
}

void compare(const char* name, const at::Tensor& x, const Function& of_all, const Function& of_last) {
  const Outcome all = outcome(of_all, x);
  expect_equal(name, all, outcome(of_last, last_rows(x).clone()));
}

void compare_elements(const at::Tensor& x) {
  for (const char* name : {"relu", "gelu", "gelu_exact", "silu"}) {
    const Function f = [&](const at::Tensor& of) { return activate(name, one_worker(of)).local(); };
    compare(name, x, f, f);
  }
  const std::int64_t rows = x.size(0), width = x.size(1);
  const auto dropped = [&](std::int64_t first) {
    return [=](const at::Tensor& of) {
      return detail::dropped(of, {{rows, width}, {{{first, rows}}, {{0, width}}}, 42, 1, 0.1});
    };
  };
  compare("dropout", x, dropped(0), dropped(rows - kTail));
}

template <typename Norm>
Function norm_of(std::int64_t rows, std::int64_t width) {
  auto norm = std::make_shared<Norm>("norm", Space(Partition::world(), {rows, width}), 1e-5);
  norm->initialise(1, at::kBFloat16);
  return [norm](const at::Tensor& of) { return (*norm)(one_worker(of)).local(); };
}

void compare_rows(const at::Tensor& x) {
  const std::int64_t rows = x.size(0), width = x.size(1);
  compare("LayerNorm", x, norm_of<LayerNorm>(rows, width), norm_of<LayerNorm>(kTail, width));
  compare("RmsNorm", x, norm_of<RmsNorm>(rows, width), norm_of<RmsNorm>(kTail, width));
  const at::Tensor targets = at::randint(width, {rows}, at::kLong);
  compare(
      "cross_entropy", x,
      [&](const at::Tensor& of) {
        return cross_entropy(one_worker(of.mul(1)), one_worker(targets)).sum.local();
      },
      [&](const at::Tensor& of) {
        return cross_entropy(one_worker(of.mul(1)), one_worker(last_rows(targets))).sum.local();
      });
  const auto turned = [&](std::int64_t first) {
    const RotaryOptions options{.dims = kHeadWidth, .pairs = RotaryPairs::halves};
    const auto turns = detail::rotary_turns({{first, rows}}, options, at::dtype(at::kFloat));
    return [=](const at::Tensor& of) {
      const at::Tensor heads = of.view({1, of.size(0), width / kHeadWidth, kHeadWidth});
      return detail::turned(heads, turns, RotaryPairs::halves).view(of.sizes());
    };
  };
  compare("rotary", x, turned(0), turned(rows - kTail));
}

int run(int argc, char** argv) {
  CLI::App app("Kernels on tensors of many elements");
  std::int64_t elements = (std::int64_t{1} << 31) + 12345;
  app.add_option("--elements", elements, "at least so many, in bf16");
  CLI11_PARSE(app, argc, argv);
  constexpr std::int64_t kWidth = 1024;
  const at::Tensor x = rows_of(elements / kWidth + 1, kWidth);
  std::printf("%lld elements\n", static_cast<long long>(x.numel()));
  compare_elements(x);
  compare_rows(x);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
