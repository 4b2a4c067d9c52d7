// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels of rows beside the operators of LibTorch that they replace: norms and cross-entropy, forward and
// backward, on one worker. For each it prints per cent of the rate at which memory is copied, counting the
// least bytes that must be read and written, and how many times as fast ours is. All are the least times of
// the rounds, which others on the machine have disturbed least. What the caches hold passes 100 %.
//   rows [rows] [width] [vocabulary] [rounds] [float | bfloat16 | half]
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rms_norm.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/loss/loss.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Tensors = std::vector<at::Tensor>;

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double middle(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

struct Seconds {
  double forward, backward;
};

/// `f` is a function of x, which it may take for itself, with the gradients by x and by `parameters`.
struct Case {
  std::string name;
  at::Tensor leaf;
  Tensors ours, theirs;  // parameters
  std::function<at::Tensor(at::Tensor&&)> f, g;
  double forward_bytes, backward_bytes;
};

Seconds seconds_of(const at::Tensor& leaf, const Tensors& parameters,
                   const std::function<at::Tensor(at::Tensor&&)>& f) {
  const Chain chain;
  at::Tensor x = leaf.add(0), y;
  Tensors all = parameters;
  all.push_back(leaf);
  Seconds seconds{};
  seconds.forward = seconds_of([&] { y = f(std::move(x)); });
  const at::Tensor ybar = at::ones_like(y);
  seconds.backward = seconds_of([&] { torch::autograd::grad({y}, all, {ybar}); });
  return seconds;
}

double least(const std::vector<double>& numbers) { return *std::min_element(numbers.begin(), numbers.end()); }

void print(const char* what, double copied, double bytes, const std::vector<double>& ours,
           const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
  const auto per_cent = [&](const std::vector<double>& seconds) {
    return 100 * bytes / least(seconds) / copied;
  };
  std::printf("  %-9s %5.0f %% of a copy, LibTorch %5.0f %%: %.2f times as fast, median of pairs %.2f\n",
              what, per_cent(ours), per_cent(theirs), least(theirs) / least(ours), middle(ratios));
}

void measure(const Case& one, int rounds, double copied) {
  std::vector<double> forward, backward, their_forward, their_backward;
  for (int i = 0; i < rounds + 2; ++i) {
    const Seconds ours = seconds_of(one.leaf, one.ours, one.f);
    const Seconds theirs = seconds_of(one.leaf, one.theirs, one.g);
    if (i < 2) continue;
    forward.push_back(ours.forward), backward.push_back(ours.backward);
    their_forward.push_back(theirs.forward), their_backward.push_back(theirs.backward);
  }
  std::printf("%s\n", one.name.c_str());
  print("forward", copied, one.forward_bytes, forward, their_forward);
  print("backward", copied, one.backward_bytes, backward, their_backward);
}

/// Bytes a second, read and written.
double copy_rate(int rounds) {
  const at::Tensor from = at::ones({1 << 26}), to = at::ones({1 << 26});
  std::vector<double> seconds;
  for (int i = 0; i < std::min(rounds, 20); ++i) seconds.push_back(seconds_of([&] { to.copy_(from); }));
  return 2 * static_cast<double>(from.nbytes()) / least(seconds);
}

/// What a residual x + h costs beside a norm of it: the sum, and in backward adding its gradient to the
/// norm's. A kernel of both would save a third of the first and two thirds of the second.
void print_residual(const at::Tensor& x, int rounds) {
  const at::Tensor h = at::ones_like(x);
  at::Tensor sum, total = at::ones_like(x);
  std::vector<double> forward, backward;
  for (int i = 0; i < rounds; ++i) {
    forward.push_back(seconds_of([&] { sum = x.add(h); }));
    backward.push_back(seconds_of([&] { total.add_(h); }));
  }
  std::printf("x + h: %.0f us, its gradient added %.0f us\n", 1e6 * least(forward), 1e6 * least(backward));
}

Tensors values_of(const std::vector<Parameter>& parameters) {
  Tensors values;
  for (const Parameter& each : parameters) values.push_back(each.value().local());
  return values;
}

Tensors copies_of(const Tensors& all) {
  Tensors copies;
  for (const at::Tensor& each : all) copies.push_back(each.detach().clone().requires_grad_());
  return copies;
}

void run(std::int64_t rows, std::int64_t width, std::int64_t vocabulary, int rounds, at::ScalarType type) {
  const Partition alone = Partition::simulated(1);
  const double copied = copy_rate(rounds);
  std::printf("a copy: %.1f GB/s\n", copied * 1e-9);
  const Space X(alone, {rows, width}), L(alone, {rows, vocabulary}), T(alone, {rows});
  const auto leaf = [&](const Space& S) { return at::randn(S.shape()).to(type).requires_grad_(); };
  LayerNorm layer_norm("ln", X);
  RmsNorm rms_norm("rms", X);
  layer_norm.initialise(1, type), rms_norm.initialise(1, type);
  const Tensors of_layer = values_of(layer_norm.parameters()), of_rms = values_of(rms_norm.parameters());
  const Tensors w = copies_of(of_layer), v = copies_of(of_rms);
  const at::Tensor targets = at::randint(vocabulary, {rows}, at::kLong);
  const double size = static_cast<double>(rows * width) * static_cast<double>(c10::elementSize(type));
  const double logits = static_cast<double>(rows * vocabulary) * static_cast<double>(c10::elementSize(type));
  measure(
      {"LayerNorm", leaf(X), of_layer, w, [&](at::Tensor&& x) { return layer_norm(Vector(X, x)).local(); },
       [&](at::Tensor&& x) { return at::layer_norm(x, {width}, w[0], w[1]); }, 2 * size, 3 * size},
      rounds, copied);
  measure({"RmsNorm", leaf(X), of_rms, v, [&](at::Tensor&& x) { return rms_norm(Vector(X, x)).local(); },
           [&](at::Tensor&& x) { return at::rms_norm(x, {width}, v[0], 1e-5); }, 2 * size, 3 * size},
          rounds, copied);
  print_residual(at::randn(X.shape()).to(type), rounds);
  measure({"cross_entropy",
           leaf(L),
           {},
           {},
           [&](at::Tensor&& x) {
             const at::Tensor own = std::move(x);
             return cross_entropy({L, own}, {T, targets}).sum.local();
           },
           [&](at::Tensor&& x) {
             const at::Tensor own = std::move(x);
             return at::cross_entropy_loss(own, targets, {}, at::Reduction::Sum);
           },
           logits,
           2 * logits},
          rounds, copied);
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return argc > i ? std::stoll(argv[i]) : otherwise;
  };
  const std::string type = argc > 5 ? argv[5] : "float";
  riesz::run(number(1, 1024), number(2, 1024), number(3, 50257), static_cast<int>(number(4, 7)),
             type == "half" ? at::kHalf : (type == "bfloat16" ? at::kBFloat16 : at::kFloat));
  return 0;
}
