// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/channel_bias.h"

#include <ATen/ops/add.h>

#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/held_once.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz::detail {

Space channel_space(const Space& Y) {
  return sharded_as_channels(Space(Y.partition(), {Y.shape()[1]}), 0, Y);
}

Vector with_channel_bias(const Vector& y, const Parameter& bias) {
  const std::string letters = std::string("bcdhw").substr(0, static_cast<std::size_t>(y.space().dims()));
  const at::Tensor b = read_beside("add", BesideAs::sum, y.space(), letters, bias.value(), "c");
  const bool constant = y.is_constant() && !bias.trained();
  return local_op(y.space(), {y.local(), b}, constant, [&] {
    const at::Tensor& of_x = y.local();
    return held_once(of_x) ? of_x.add_(b) : at::add(of_x, b);
  });
}

}  // namespace riesz::detail
