// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/rotary_turns.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <numbers>
#include <vector>

#include "riesz/comm/on_device.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/comm/without_values.h"

namespace riesz::detail {
namespace {

constexpr std::size_t kKept = 16;

struct KeptTurns {
  Intervals held;
  RotaryOptions options;
  at::ScalarType type;
  at::Device device;
  c10::StreamId stream;  // in whose order they come there
  bool values;           // false: of a run `WithoutValues`, which others must not use
  RotaryTurns turns;
};

c10::StreamId stream_of(at::Device device) {
  return device.is_cpu() ? 0 : c10::impl::VirtualGuardImpl(device.type()).getStream(device).id();
}

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
  const auto sent = [&](const at::Tensor& x) {
    return on_device(x.to(type.dtype().toScalarType()), type.device());
  };
  return {sent(at::cos(angles)), sent(at::sin(angles))};
}

}  // namespace

RotaryTurns rotary_turns(const Intervals& held, const RotaryOptions& options, const at::TensorOptions& type) {
  static auto& all = *new PlanCache<KeptTurns>(kKept);  // lives as long as devices do
  const at::ScalarType scalar = type.dtype().toScalarType();
  const c10::StreamId stream = stream_of(type.device());
  const auto kept = all.get(
      [&](const KeptTurns& each) {
        return each.held == held && each.options == options && each.type == scalar &&
               each.device == type.device() && each.stream == stream && each.values == has_values();
      },
      [&] {
        return KeptTurns{
            held, options, scalar, type.device(), stream, has_values(), made(held, options, type)};
      });
  return kept->turns;
}

}  // namespace riesz::detail
