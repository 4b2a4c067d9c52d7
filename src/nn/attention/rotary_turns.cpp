// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/rotary_turns.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>

#include <list>
#include <mutex>
#include <numbers>
#include <vector>

namespace riesz::detail {
namespace {

constexpr std::size_t kKept = 16;

struct KeptTurns {
  Intervals held;
  RotaryOptions options;
  at::ScalarType type;
  at::Device device;
  RotaryTurns turns;

  bool is_for(const Intervals& positions, const RotaryOptions& asked, const at::TensorOptions& as) const {
    return held == positions && options == asked && type == as.dtype().toScalarType() &&
           device == as.device();
  }
};

/// By pair, what a position more turns it by.
at::Tensor frequencies(std::int64_t dims, const RotaryOptions& options) {
  const at::Tensor exponents = at::arange(0, dims, 2, at::kDouble).div(-static_cast<double>(dims));
  const at::Tensor plain = at::pow(options.base, exponents);
  if (!options.scaling) return plain;
  const RotaryScaling& s = *options.scaling;
  const at::Tensor turns = plain.mul(static_cast<double>(s.original_max_position) / (2 * std::numbers::pi));
  const at::Tensor kept =
      turns.sub(s.low_freq_factor).div(s.high_freq_factor - s.low_freq_factor).clamp(0, 1);
  return plain.mul(kept).add(plain.div(s.factor).mul(kept.neg().add(1)));
}

RotaryTurns made(const Intervals& held, const RotaryOptions& options, const at::TensorOptions& type) {
  std::vector<at::Tensor> runs{at::arange(0, at::kDouble)};
  for (const Interval& run : held) runs.push_back(at::arange(run.begin, run.end, at::kDouble));
  const at::Tensor positions = at::cat(runs).add(static_cast<double>(options.offset));
  const at::Tensor angles = at::outer(positions, frequencies(options.dims.value(), options)).unsqueeze(1);
  return {at::cos(angles).to(type), at::sin(angles).to(type)};
}

}  // namespace

RotaryTurns rotary_turns(const Intervals& held, const RotaryOptions& options, const at::TensorOptions& type) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::list<KeptTurns>;  // the last used first; lives as long as devices do
  const std::lock_guard lock(mutex);
  for (auto at = kept.begin(); at != kept.end(); ++at) {
    if (!at->is_for(held, options, type)) continue;
    kept.splice(kept.begin(), kept, at);
    return at->turns;
  }
  kept.push_front({held, options, type.dtype().toScalarType(), type.device(), made(held, options, type)});
  if (kept.size() > kKept) kept.pop_back();
  return kept.front().turns;
}

}  // namespace riesz::detail
