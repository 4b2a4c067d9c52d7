// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/rotary.h"

#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

void check_whole_width(const Space& X, std::int64_t dims) {
  RIESZ_CHECK(X.dims() >= 3, "rotary takes (..., T, heads, d), not ", to_string(X));
  const std::vector<std::string> axes = sharding_axes(X, X.dims() - 1);
  RIESZ_CHECK(axes.empty(), "rotary turns pairs of the head width, dim ", X.dims() - 1, ", which axis ",
              axes.front(), " shards in ", to_string(X),
              "; it must be whole: bring x there with between(X, Y)");
  RIESZ_CHECK(dims >= 0 && dims <= X.shape().back() && dims % 2 == 0, "rotary: ", dims,
              " dims of the head width of ", to_string(X),
              "; they turn in pairs, so an even number of at most ", X.shape().back());
}

void check_scaling(const RotaryOptions& options) {
  if (!options.scaling) return;
  const RotaryScaling& s = *options.scaling;
  RIESZ_CHECK(s.factor > 0 && s.original_max_position > 0 && s.high_freq_factor > s.low_freq_factor,
              "rotary: a scaling with factor ", s.factor, ", low_freq_factor ", s.low_freq_factor,
              ", high_freq_factor ", s.high_freq_factor, " and original_max_position ",
              s.original_max_position, "; they are positive, and low_freq_factor is below high_freq_factor");
}

/// Its tensor. If nobody else held the vector, nobody else holds it.
at::Tensor local_of(Vector x) { return x.local(); }

}  // namespace

Vector rotary(Vector x, const RotaryOptions& options) {
  const Space X = x.space();
  const std::int64_t dims = options.dims.value_or(X.dims() > 0 ? X.shape().back() : 0);
  check_whole_width(X, dims);
  check_scaling(options);
  if (dims == 0) return x;
  return detail::local_op(X, {x.local()}, x.is_constant(), [&] {
    RotaryOptions said = options;
    said.dims = dims;
    const Intervals positions = X.boxes(X.partition().rank())[static_cast<std::size_t>(X.dims() - 3)];
    const at::ScalarType type = accumulation_type(x.local().scalar_type());
    const detail::RotaryTurns turns = detail::rotary_turns(positions, said, x.local().options().dtype(type));
    at::Tensor local = local_of(std::move(x));  // the vector is gone before it is turned
    return detail::turned(std::move(local), turns, options.pairs);
  });
}

}  // namespace riesz
