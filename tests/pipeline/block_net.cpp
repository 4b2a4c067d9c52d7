// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "block_net.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <algorithm>

#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/primitives/between.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kWidth = 5, kInner = 11;

Roles roles() { return {{'b', {Role::batch}}, {'c', {Role::width, kWidth}}, {'f', {Role::inner, kInner}}}; }

}  // namespace

Vector Block::forward(const Vector& x) {
  if (x.space().partition().active()) called_();
  return x + drop_(down_(gelu(up_(x))));
}

BlockNet::BlockNet(const ModelSpaces& spaces, int blocks, Way way) : Layer("", spaces), way_(std::move(way)) {
  for (int i = 0; i < blocks; ++i)
    blocks_.emplace_back(OwnerAndName(*this, "block." + std::to_string(i)), [this, i] {
      if (called) called(i);
    });
}

Vector BlockNet::forward(const Vector& x) {
  if (way_) return way_(*this, x);
  Vector y = x;
  for (Block& block : blocks_) y = block(y);
  return y;
}

Stages a_block_a_stage(const std::vector<int>& worker_of) {
  const int pp = *std::max_element(worker_of.begin(), worker_of.end()) + 1;
  const Partition mesh = Partition::world().grid({{"pp", pp}, {"dp", 1}, {"tp", Runtime::size() / pp}});
  std::vector<Layout> layouts;
  std::map<std::string, int> stage_of;
  for (const int worker : worker_of) {
    stage_of["block." + std::to_string(layouts.size())] = static_cast<int>(layouts.size());
    layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  }
  return Stages(layouts, roles(), stage_of);
}

Vector loss_of(BlockNet& net, std::int64_t i) {
  const ContextScope context({.training = true, .seed = 5, .step = i});
  const std::int64_t rows = 2 + i % 3;
  const at::Tensor x = at::arange(rows * kWidth, at::kDouble)
                           .reshape({rows, kWidth})
                           .mul(0.1)
                           .sub(0.3 * static_cast<double>(i));
  const Space X = net.spaces().stream("bc").with_shape(x.sizes().vec());
  return sum(gelu(net(distribute(X, x))), {}, {.all_reduce = true});
}

std::map<std::string, at::Tensor> gradients_of(const BlockNet& net) {
  const at::NoGradGuard no_gradient;
  std::map<std::string, at::Tensor> all;
  for (const Parameter& parameter : net.parameters()) {
    const Vector gradient = parameter.gradient();
    const Space everywhere(Partition::world(), gradient.space().shape());
    all[parameter.name()] = between(gradient.space(), everywhere)(gradient).local().clone();
  }
  return all;
}

}  // namespace riesz::testing
