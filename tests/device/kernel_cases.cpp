// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_cases.h"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/dropped.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Numbers as whole numbers of their bits.
at::Tensor bits_of(const at::Tensor& x) {
  const auto bytes = x.element_size();
  return x.view(bytes == 8 ? at::kLong : bytes == 4 ? at::kInt : at::kShort);
}

/// Where elements are not what they may be. `bound` undefined: the bits.
at::Tensor wrong_ones(const at::Tensor& there, const at::Tensor& here, const at::Tensor& bound) {
  const at::Tensor no_numbers = there.isnan().logical_and(here.isnan());
  if (!bound.defined()) return bits_of(there).ne(bits_of(here)).logical_and(no_numbers.logical_not());
  const at::ScalarType type = here.scalar_type();
  const double least = type == at::kHalf ? 0x1p-24 : type == at::kDouble ? 0x1p-1074 : 0x1p-133;
  const at::Tensor a = there.to(at::kDouble), b = here.to(at::kDouble);
  const at::Tensor most = bound.view(b.sizes()).add(b.abs().mul(2 * rounding_of(type))).add(least);
  return a.sub(b).abs().le(most).logical_or(a.eq(b)).logical_or(no_numbers).logical_not();
}

std::string difference_of(const at::Tensor& there, const at::Tensor& here, const at::Tensor& bound) {
  if (there.sizes() != here.sizes()) return concat("of ", there.sizes(), ", not ", here.sizes());
  if (there.scalar_type() != here.scalar_type())
    return concat("of ", there.scalar_type(), ", not ", here.scalar_type());
  const at::Tensor far = there.cpu().contiguous().view({-1}), near = here.contiguous().view({-1});
  const at::Tensor which = wrong_ones(far, near, bound).nonzero();
  if (which.size(0) == 0) return "";
  const auto first = which[0].item<std::int64_t>();
  const auto number = [&](const at::Tensor& x) { return x[first].to(at::kDouble).item<double>(); };
  return concat(
      which.size(0), " of ", near.numel(), " elements differ; element ", first, " is ", number(far),
      ", the CPU has ", number(near), ", ", std::abs(number(far) - number(near)), " apart, where ",
      bound.defined() ? concat("the bound is ", number(bound.view({-1}))) : "the bits are to be the same");
}

}  // namespace

double rounding_of(at::ScalarType type) {
  return type == at::kBFloat16 ? 0x1p-8 : type == at::kHalf ? 0x1p-11 : rounding_in(type);
}

double rounding_in(at::ScalarType type) { return type == at::kDouble ? 0x1p-53 : 0x1p-24; }

std::string difference_from_cpu(const KernelCase& each, at::Device device) {
  const Tensors here = each.run(at::kCPU), there = each.run(device);
  if (there.size() != here.size()) return concat(there.size(), " results, not ", here.size());
  const Tensors bounds = each.bounds ? each.bounds() : Tensors(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (there[i].device() != device) return concat("result ", i, " is on ", there[i].device());
    const std::string text = difference_of(there[i], here[i], bounds[i]);
    if (!text.empty()) return concat("result ", i, ": ", text);
  }
  return "";
}

/// Runs of up to 32 are summed, and each two of them added.
std::vector<KernelCase> sum_cases(at::ScalarType type) {
  std::vector<KernelCase> all;
  for (const int count : {2, 3, 32, 33, 70}) {
    const int runs = count <= 32 ? 1 : count <= 64 ? 2 : 4;
    all.push_back({concat("sum of ", count, " terms, ", type),
                   {{"SumOfElement", 2 * (2 * runs - 1)}},
                   [=](at::Device device) {
                     at::manual_seed(5);
                     Tensors terms;
                     for (int i = 0; i < count; ++i)
                       terms.push_back(at::randn({3, 7}, at::kDouble).mul(1e3).to(type).to(device));
                     const at::Tensor sum = ordered_sum(terms), over = terms[0].clone();
                     terms[0] = over;
                     ordered_sum_to(terms, over);  // over a term
                     return Tensors{sum, over};
                   }});
  }
  return all;
}

std::vector<KernelCase> dropout_cases(at::ScalarType type) {
  struct Part {
    std::vector<std::int64_t> shape;
    Boxes boxes;
    int queued;
  };
  std::vector<KernelCase> all;
  for (const Part& part :
       std::vector<Part>{{{3, 5, 7}, {{{0, 3}}, {{0, 5}}, {{0, 7}}}, 1},
                         {{3, 5, 7}, {{{1, 3}}, {{0, 2}, {3, 5}}, {{0, 7}}}, 1},
                         {{3, 5, 7}, {{{0, 1}, {2, 3}}, {{0, 5}}, {{2, 4}, {5, 7}}}, 1},
                         {{64, 1024}, {{{0, 64}}, {{0, 1024}}}, 1},
                         // More pieces of a dim than the kernel has room for are drawn by operators.
                         {{10}, {{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}}, 0}}) {
    const detail::DropoutDraws draws{part.shape, part.boxes, 42, 3, 0.3};
    all.push_back(
        {concat("dropout of ", volume(part.boxes), " elements of ", at::IntArrayRef(part.shape), ", ", type),
         {{"DroppedElements", 2 * part.queued}},
         [=](at::Device device) {
           at::manual_seed(6);
           const at::Tensor x = at::randn({volume(draws.boxes)}, at::kDouble).to(type).to(device);
           return Tensors{detail::dropped(x, draws), detail::dropout_mask(draws, x.options())};
         }});
  }
  return all;
}

std::vector<KernelCase> rotary_cases(at::ScalarType type) {
  std::vector<KernelCase> all;
  for (const RotaryPairs pairs : {RotaryPairs::neighbours, RotaryPairs::halves}) {
    RotaryOptions options;
    options.dims = 6, options.pairs = pairs;
    all.push_back(
        {concat("rotary, ", pairs == RotaryPairs::halves ? "halves" : "neighbours", ", ", type),
         {{"TurnedPairs", 2}},
         [=](at::Device device) {
           at::manual_seed(1);
           const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
           const auto drawn = [&] { return at::randn({2, 5, 3, 8}, at::kDouble).to(type).to(device); };
           const at::Tensor x = drawn().requires_grad_(), ybar = drawn();
           const auto turns = detail::rotary_turns({{0, 3}, {4, 6}}, options, at::dtype(wide).device(device));
           const at::Tensor y = detail::turned(x, turns, pairs);
           y.mul(ybar).sum().backward();  // nobody else holds ȳ, which may be turned in place
           return Tensors{y.detach(), x.grad()};
         }});
  }
  return all;
}

std::vector<KernelCase> kernel_cases(at::ScalarType type) {
  std::vector<KernelCase> all;
  const auto add = [&](const std::vector<KernelCase>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(sum_cases(type)), add(dropout_cases(type)), add(rotary_cases(type)), add(formula_cases(type));
  for (const KernelSizes& sizes : kKernelSizes) add(norm_cases(type, sizes)), add(logit_cases(type, sizes));
  return all;
}

}  // namespace riesz::testing
