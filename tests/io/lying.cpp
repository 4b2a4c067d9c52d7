// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "lying.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "riesz/comm/runtime.h"
#include "riesz/partition/split.h"

namespace riesz::testing {

void Lying::add(const std::string& name, const std::string& key, const Space& X, at::ScalarType type,
                const Interval& local) {
  const auto salt = static_cast<double>(name.size() + key.size());
  const at::Tensor global = at::arange(X.numel(), at::kDouble).mul(0.25).add(salt).remainder(97).to(type);
  const at::Tensor mine = distribute(X, global.view(X.shape())).local().contiguous().view({-1});
  const std::int64_t size = std::min(local.end, mine.numel()) - std::min(local.begin, mine.numel());
  const at::Tensor part = mine.narrow(0, std::min(local.begin, mine.numel()), size).clone();
  const Partition& P = X.partition();
  const bool counted = P.active() && X.leader(P.rank(), {Placement::Replicated}) == P.rank();
  filled_.push_back(part);
  state.push_back(
      {name, key, X, {local.begin, local.begin + size}, counted, zero_ ? at::zeros_like(part) : part});
}

void Lying::add(const std::string& name, const std::string& key, const Space& X, at::ScalarType type) {
  add(name, key, X, type, {0, X.numel()});
}

Lying::Lying(const Partition& mesh, bool zero) : zero_(zero), steps_(zero ? 0 : 41), scale_(zero ? 0 : 0.1) {
  const int tp = mesh.extent("tp");
  const Space table = Space(mesh, {97, 24}).sharded(0, "tp");
  const Space heads = Space(mesh, {24, 3, 5, 8}).sharded(2, "tp");
  shapes = {{"table", {97, 24}}, {"heads", {24, 120}}, {"both", {44, 15}}, {"stage", {6, 4}}};
  add("table", "value", table, at::kFloat);
  add("heads", "value", heads, at::kFloat);
  add("heads", "first", heads, at::kFloat);
  add("both", "value", Space(mesh, {44, 15}).sharded(1, "tp").sharded(0, "dp"), at::kBFloat16);
  add("both", "master", Space(mesh, {44, 15}).sharded(1, "tp").sharded(0, "dp"), at::kFloat);
  add("norm", "value", Space(mesh, {24}), at::kDouble);
  add("ids", "value", Space(mesh, {7}).sharded(0, "tp", Split::zigzag(7, tp)), at::kLong);
  add("none", "value", Space(mesh, {0, 3}).sharded(1, "tp"), at::kHalf);
  add("mask", "value", Space(mesh, {3000}).sharded(0, "dp"), at::kBool);
  add("stage", "value", Space(mesh.at("dp", 0), {6, 4}).sharded(1, "tp"), at::kFloat);
  // Flat pieces, of what tp shards, over dp; and in two views each.
  const std::int64_t here = mesh.active() ? volume(table.boxes(mesh.rank())) : 0;
  const int dp = mesh.extent("dp");
  const int mine = mesh.active() ? mesh.coordinate(mesh.rank(), mesh.index("dp")) : 0;
  const Interval piece = Split::balanced(here, dp)[mine];
  const std::int64_t half = (piece.begin + piece.end) / 2;
  for (const Interval& part : {Interval{half, piece.end}, Interval{piece.begin, half}}) {
    add("table", "second", table, at::kDouble, part);
    state.back().counted = mesh.active();
  }
  state.push_back(view_of("table", "steps", mesh, steps_));
  state.push_back(view_of("loss_scale", "value", mesh, scale_));
}

void Lying::expect_filled() const {
  for (std::size_t i = 0; i < filled_.size(); ++i)
    EXPECT_TRUE(at::equal(state[i].tensor, filled_[i])) << state[i].key << " of " << state[i].name;
  if (state.back().tensor.numel() == 0) return;
  EXPECT_EQ(steps_, 41);
  EXPECT_EQ(scale_, 0.1);
}

std::vector<Partition> dp_tp_grids() {
  std::vector<Partition> grids;
  const int p = Runtime::size();
  for (int dp = 1; dp <= p; ++dp) {
    if (p % dp == 0) grids.push_back(Partition::world().grid({{"dp", dp}, {"tp", p / dp}}));
  }
  return grids;
}

Partition first_alone() { return Partition::world().subset({0}).grid({{"dp", 1}, {"tp", 1}}); }

}  // namespace riesz::testing
