// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/channel_bias.h"

#include <ATen/ops/add.h>

#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/held_once.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz::detail {

Space channel_space(const Space& Y) {
  Space B = Space(Y.partition(), {Y.shape()[1]}).unit(0, Y.unit_of(1));
  for (const Shard& shard : Y.shards(1)) {
    const std::string& axis = Y.partition().axis(shard.axis).name;
    B = shard.overlaps() ? B.sharded(0, axis) : B.sharded_like(0, axis, shard);
  }
  return B;
}

Vector with_channel_bias(const Vector& y, const Parameter& bias) {
  const std::string letters = std::string("bcdhw").substr(0, static_cast<std::size_t>(y.space().dims()));
  const at::Tensor b = read_beside("add", BesideAs::sum, y.space(), letters, bias.value(), "c");
  const bool constant = y.is_constant() && !bias.trained();
  return local_op(y.space(), {y.local(), b}, constant, [&] {
    const at::Tensor& of_x = y.local();
    const at::Tensor added = b.to(of_x.scalar_type());
    return held_once(of_x) ? of_x.add_(added) : at::add(of_x, added);
  });
}

}  // namespace riesz::detail
