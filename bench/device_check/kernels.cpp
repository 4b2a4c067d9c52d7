// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "kernel_cases.h"
#include "kernels_found.h"
#include "riesz/comm/error.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/loss/exp_rows.h"
#include "riesz/nn/norm/row_norm.h"
#include "riesz/nn/pointwise/record.h"
#include "riesz/nn/random/dropped.h"
#include "rows.h"

namespace riesz::bench {
namespace {

using Tensors = std::vector<at::Tensor>;

/// A kernel that is timed, with its operands. `bytes`: read and written.
struct Kernel {
  std::string name;
  std::function<at::Tensor(const Tensors&)> call;
  Tensors operands;  // on the CPU

  double bytes(const at::Tensor& result) const {
    double all = static_cast<double>(result.nbytes());
    for (const at::Tensor& x : operands) all += static_cast<double>(x.nbytes());
    return all;
  }
};

at::Tensor draws(at::IntArrayRef sizes, at::ScalarType type) { return at::randn(sizes, at::kFloat).to(type); }

/// Four terms that differ.
Tensors four(std::int64_t elements, at::ScalarType type) {
  Tensors all;
  for (int i = 0; i < 4; ++i) all.push_back(draws({elements}, type));
  return all;
}

std::vector<Kernel> timed_kernels(std::int64_t elements) {
  constexpr std::int64_t kWidth = 768, kVocabulary = 50257;
  const at::ScalarType half = at::kBFloat16;
  const std::int64_t rows = std::max<std::int64_t>(1, elements / kWidth);
  const std::int64_t of_logits = std::max<std::int64_t>(1, elements / kVocabulary);
  const std::int64_t positions = std::max<std::int64_t>(1, rows / 12);
  const at::Tensor x = draws({rows, kWidth}, half), w = draws({kWidth}, half), b = draws({kWidth}, half);
  std::vector<Kernel> all;
  all.push_back({"sum of 4 terms, fp32", [](const Tensors& of) { return ordered_sum(of); },
                 four(elements, at::kFloat)});
  all.push_back(
      {"sum of 4 terms, bf16", [](const Tensors& of) { return ordered_sum(of); }, four(elements, half)});
  all.push_back({"dropout, bf16",
                 [rows](const Tensors& of) {
                   return detail::dropped(of[0], {{rows, kWidth}, {{{0, rows}}, {{0, kWidth}}}, 42, 3, 0.1});
                 },
                 {x}});
  all.push_back({"layer norm, bf16",
                 [](const Tensors& of) { return detail::row_norm(of[0], of[1], of[2], 1e-5); },
                 {x, w, b}});
  all.push_back({"gelu of x + b, bf16",
                 [](const Tensors& of) {
                   return detail::recorded_pointwise(
                       detail::formula<2>("gelu", detail::OfSum<detail::GeluFormula>{}), of);
                 },
                 {x, b}});
  all.push_back({"rotary, bf16",
                 [positions](const Tensors& of) {
                   RotaryOptions options;
                   options.dims = 64;
                   const at::TensorOptions type = of[0].options().dtype(at::kFloat);
                   const detail::RotaryTurns turns = detail::rotary_turns({{0, positions}}, options, type);
                   return detail::turned(of[0].clone(), turns, RotaryPairs::halves);
                 },
                 {draws({1, positions, 12, 64}, half)}});
  all.push_back({"sums of exp of rows, bf16",
                 [](const Tensors& of) { return detail::row_sums(of[0]).sum; },
                 {draws({of_logits, kVocabulary}, half)}});
  return all;
}

/// What is wrong with a case on this rank's device; empty: nothing.
std::string wrong_of(const testing::KernelCase& each, at::Device device) {
  const std::string missing = testing::kernels_not_found(each, device);
  if (!missing.empty()) return concat("LibTorch's operators have computed; there is no kernel ", missing);
  return testing::difference_from_cpu(each, device);
}

/// All kernels of elements of a type, beside the CPU's.
bool check_kernels_of(at::ScalarType type, at::Device device) {
  int done = 0, wrong = 0;
  for (const testing::KernelCase& each : testing::kernel_cases(type)) {
    const std::string differs = said_by_a_rank(wrong_of(each, device));
    ++done;
    if (differs.empty()) continue;
    ++wrong;
    if (Runtime::rank() == 0) std::printf("DIFFERS %s\n  %s\n", each.name.c_str(), differs.c_str());
  }
  print_row(concat("kernels, ", type, ", ", done, " cases"), wrong, "differ", "0",
            wrong == 0 ? "ok" : "DIFFERS");
  return wrong == 0;
}

}  // namespace

bool check_kernels(at::Device device, const CheckOptions& options) {
  // Without a library LibTorch's operators would be compared.
  bool good = device.is_cpu() || kernel_library_for(device.type()) != nullptr;
  if (!good) print_row("kernels", 0, "libraries", "1", "THERE IS NONE");
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    good = check_kernels_of(type, device) && good;
  at::manual_seed(1);
  const at::Tensor from = draws({options.elements}, at::kFloat).to(device), to = at::empty_like(from);
  const double copied = 2 * static_cast<double>(from.nbytes()) / seconds_of(device, [&] { to.copy_(from); });
  print_row("copy", copied / 1e9, "GB/s", "", "measured");
  for (const Kernel& each : timed_kernels(options.elements)) {
    Tensors there;
    for (const at::Tensor& x : each.operands) there.push_back(x.to(device));
    const double rate = each.bytes(each.call(there)) / seconds_of(device, [&] { each.call(there); });
    print_row(each.name, 100 * rate / copied, "% of a copy", "", "measured");
  }
  return good;
}

}  // namespace riesz::bench
