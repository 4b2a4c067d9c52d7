// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Tiles by blocks of rows, beside the same in fp64 by LibTorch's operators.
#include "riesz/nn/attention/row_blocks.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "few_rows.h"
#include "riesz/nn/attention/attend_alone.h"
#include "riesz/nn/attention/tile_product.h"
#include "riesz/nn/random/dropped.h"

namespace riesz::testing {
namespace {

using detail::Attended;
using detail::RowGradients;
using detail::TileGradients;
using detail::TileMask;

constexpr std::int64_t B = 2, H = 4;

/// A tile's operands, as they lie in attention's vectors.
struct Operands {
  at::Tensor q, k, v, ybar;

  Operands(std::int64_t rows, std::int64_t columns, std::int64_t key_heads, std::int64_t d,
           at::ScalarType type) {
    const auto of = [&](std::int64_t n, std::int64_t heads) {
      return in_a_room(floats({B, n, heads, d}).to(type)).transpose(1, 2);
    };
    q = of(rows, H), k = of(columns, key_heads), v = of(columns, key_heads), ybar = of(rows, H);
  }
};

/// Of rows and columns in pieces of a larger sequence, none at a whole block of draws.
detail::DropoutDraws drawn(std::int64_t rows, std::int64_t columns) {
  const std::int64_t first = rows / 3, middle = columns / 2;
  return {{7, 9, 400, 403},
          {{{1, 2}, {4, 5}},
           {{2, 4}, {5, 7}},
           {{3, 3 + first}, {200, 200 + rows - first}},
           {{1, 1 + middle}, {190, 190 + columns - middle}}},
          77,
          5,
          0.3};
}

struct Case {
  std::string name;
  TileMask mask;
};

std::vector<Case> cases(std::int64_t rows, std::int64_t columns) {
  const at::Tensor seen = floats({rows, columns}).gt(-0.5), keys = floats({B, 1, 1, columns}).gt(-0.5);
  seen.select(0, rows / 2).fill_(false);
  const at::Tensor bias = floats({1, H, rows, columns}), by_column = floats({B, 1, 1, columns});
  std::vector<Case> all{{"all", {.scale = 0.3}},
                        {"corner", {.scale = 0.3, .corner = true}},
                        {"corner, keys", {.scale = 0.3, .keys = keys, .corner = true}},
                        {"seen", {.scale = 0.3, .seen = seen}},
                        {"bias", {.scale = 0.3, .bias = bias}},
                        {"bias of columns, seen, keys", {0.3, by_column, seen, keys, false, {}}}};
  const std::size_t undropped = all.size();
  for (std::size_t i = 0; i < undropped; ++i) {
    all.push_back({all[i].name + ", dropped", all[i].mask});
    all.back().mask.draws = drawn(rows, columns);
  }
  return all;
}

TileMask in_doubles(TileMask mask) {
  if (mask.bias.defined()) mask.bias = mask.bias.to(at::kDouble);
  return mask;
}

void expect_near(const at::Tensor& x, const at::Tensor& exact, double bound, const char* what) {
  ASSERT_EQ(x.sizes(), exact.sizes()) << what;
  EXPECT_LE(largest(x.to(at::kDouble).sub(exact)), bound * (1 + largest(exact))) << what;
}

void expect_case(const Operands& of, const Case& each, double bound) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  const TileMask mask = in_doubles(each.mask);
  ASSERT_TRUE(detail::takes_row_blocks(of.q, of.k, of.v, each.mask));
  const Attended exact = detail::attend(wide(of.q), wide(of.k), wide(of.v), mask);
  const Attended all = detail::attend_by_row_blocks(of.q, of.k, of.v, each.mask);
  const at::Tensor blind = exact.lse.isinf();
  EXPECT_TRUE(all.lse.isinf().equal(blind));
  expect_near(all.lse.masked_fill(blind, 0), exact.lse.masked_fill(blind, 0), bound, "lse");
  expect_near(all.y, exact.y, bound, "y");
  const RowGradients rows{exact.y, exact.lse, wide(of.ybar), wide(of.ybar).mul(exact.y).sum({-1})};
  const TileGradients expected = detail::pull_back(wide(of.q), wide(of.k), wide(of.v), rows, mask);
  for (const bool dotted : {false, true}) {
    const TileGradients bar = detail::pull_back_by_row_blocks(
        of.q, of.k, of.v, {{}, all.lse, of.ybar, dotted ? rows.dot.to(at::kFloat) : at::Tensor()}, each.mask);
    expect_near(bar.q, expected.q, bound, "by q");
    expect_near(bar.k, expected.k, bound, "by k");
    expect_near(bar.v, expected.v, bound, "by v");
    EXPECT_EQ(bar.bias.defined(), mask.bias.defined());
    if (mask.bias.defined()) expect_near(bar.bias, expected.bias, bound, "by the bias");
  }
}

TEST(RowBlocks, AreThoseOfLibTorchInDoublesWhateverActs) {
  at::manual_seed(1);
  struct Size {
    std::int64_t rows, columns, key_heads, d;
  };
  for (const auto& [rows, columns, key_heads, d] : std::vector<Size>{{1, 1, 4, 16},
                                                                     {1, 70, 2, 48},
                                                                     {7, 5, 1, 16},
                                                                     {33, 33, 4, 32},
                                                                     {40, 17, 2, 16},
                                                                     {70, 129, 1, 48}}) {
    const Operands of(rows, columns, key_heads, d, at::kFloat);
    for (const Case& each : cases(rows, columns)) {
      SCOPED_TRACE(each.name + ", " + std::to_string(rows) + " x " + std::to_string(columns) + ", " +
                   std::to_string(key_heads) + " key heads");
      expect_case(of, each, 3e-6);
    }
  }
}

TEST(RowBlocks, TakeHalfTypesInFloats) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const Operands of(35, 40, 2, 16, type);
    for (const Case& each : cases(35, 40)) expect_case(of, each, 3e-6);
  }
}

TEST(RowBlocks, HaveTheSameBitsByAnyNumberOfThreads) {
  at::manual_seed(1);
  const Operands of(70, 70, 2, 16, at::kFloat);
  TileMask mask{.scale = 0.3, .corner = true};
  mask.draws = drawn(70, 70);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Attended all = detail::attend_by_row_blocks(of.q, of.k, of.v, mask);
  const RowGradients rows{{}, all.lse, of.ybar, {}};
  const TileGradients bar = detail::pull_back_by_row_blocks(of.q, of.k, of.v, rows, mask);
  at::set_num_threads(3);
  EXPECT_TRUE(detail::attend_by_row_blocks(of.q, of.k, of.v, mask).y.equal(all.y));
  const TileGradients again = detail::pull_back_by_row_blocks(of.q, of.k, of.v, rows, mask);
  at::set_num_threads(before);
  EXPECT_TRUE(again.q.equal(bar.q) && again.k.equal(bar.k) && again.v.equal(bar.v));
}

TEST(RowBlocks, ReadAGradientThatIsNegatedLazily) {
  at::manual_seed(1);
  const Operands of(70, 70, 2, 16, at::kFloat);
  const TileMask mask{.scale = 0.3, .corner = true};
  const Attended all = detail::attend_by_row_blocks(of.q, of.k, of.v, mask);
  const auto gradients = [&](const at::Tensor& ybar) {
    return detail::pull_back_by_row_blocks(of.q, of.k, of.v, {{}, all.lse, ybar, {}}, mask);
  };
  EXPECT_TRUE(gradients(at::_neg_view(of.ybar)).v.equal(gradients(of.ybar.neg()).v));
}

TEST(RowBlocks, MakeARowNaNThatSeesAScoreThatIsNone) {
  at::manual_seed(1);
  const Operands of(20, 40, 4, 16, at::kFloat);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor bias = at::zeros({20, 40}, at::kFloat);
    bias.select(0, 3).select(0, 5).fill_(bad);
    const Attended all = detail::attend_by_row_blocks(of.q, of.k, of.v, {.scale = 1, .bias = bias});
    EXPECT_TRUE(all.y.isnan()
                    .any(3)
                    .sum(at::IntArrayRef{0, 1})
                    .gt(0)
                    .nonzero()
                    .equal(at::full({1, 1}, 3, at::kLong)));
    EXPECT_TRUE(all.y.select(2, 3).isnan().all().item<bool>());
    const at::Tensor seen = bias.eq(0);
    at::Tensor k = of.k.clone();
    k.select(2, 5).fill_(bad);  // hidden from one row
    EXPECT_FALSE(detail::attend_by_row_blocks(of.q, k, of.v, {.scale = 1, .seen = seen})
                     .y.select(2, 3)
                     .isnan()
                     .any()
                     .item<bool>());
  }
}

TEST(AttendAlone, GoesBackTwice) {
  at::manual_seed(1);
  const Operands of(20, 33, 2, 16, at::kFloat);
  for (const Case& each : cases(20, 33)) {
    SCOPED_TRACE(each.name);
    const auto gradients = [&](at::ScalarType type, bool alone) {
      std::vector<at::Tensor> leaves;
      for (const at::Tensor& x : {of.q, of.k, of.v, each.mask.bias})
        leaves.push_back(x.defined() ? x.to(type).detach().clone().requires_grad_() : x);
      TileMask mask = each.mask;
      mask.bias = leaves[3];
      at::Tensor y;
      if (alone) {
        y = detail::attend_alone(leaves[0], leaves[1], leaves[2], mask);
      } else {
        const at::Tensor s = detail::masked_scores(leaves[0], leaves[1], mask);
        const at::Tensor p = s.softmax(-1).masked_fill(s.isinf().all(-1, true), 0);
        y = detail::grouped_product(mask.draws ? detail::dropped(p, *mask.draws) : p, leaves[2]);
      }
      y.square().sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
      const at::Tensor first = leaves[0].grad(), of_keys = leaves[1].grad();
      leaves[2].mutable_grad() = at::Tensor();
      first.square().sum().add(of_keys.square().sum()).backward();
      return std::vector{first.detach(), leaves[2].grad().detach()};
    };
    const auto alone = gradients(at::kFloat, true), exact = gradients(at::kDouble, false);
    const at::Tensor seen = exact[0].isfinite();
    expect_near(alone[0].masked_fill(seen.logical_not(), 0), exact[0].masked_fill(seen.logical_not(), 0),
                1e-5, "once");
    if (seen.all().item<bool>()) expect_near(alone[1], exact[1], 1e-5, "twice");
  }
}

TEST(TileProduct, IsThatOfIntegersAtAllSizes) {
  at::manual_seed(1);
  for (const std::int64_t rows : {1, 2, 7, 8, 9, 31}) {
    for (const std::int64_t columns : {16, 32, 48, 96}) {
      for (const std::int64_t depth : {1, 5, 130, 300}) {
        const at::Tensor x = in_a_room(integers({1, 1, rows, depth}))[0][0], xt = integers({depth, rows});
        const at::Tensor w = in_a_room(integers({1, 1, depth, columns}))[0][0];
        at::Tensor y = integers({rows, columns});
        const at::Tensor expected = y.add(x.matmul(w)), alone = xt.t().matmul(w);
        detail::multiply({x.const_data_ptr<float>(), x.stride(0), 1, w.const_data_ptr<float>(), w.stride(0),
                          detail::kPanel, y.mutable_data_ptr<float>(), columns, rows, columns, depth, true});
        EXPECT_TRUE(y.equal(expected)) << rows << " x " << depth << " x " << columns;
        detail::multiply({xt.const_data_ptr<float>(), 1, rows, w.const_data_ptr<float>(), w.stride(0),
                          detail::kPanel, y.mutable_data_ptr<float>(), columns, rows, columns, depth, false});
        EXPECT_TRUE(y.equal(alone)) << rows << " x " << depth << " x " << columns << ", transposed";
      }
    }
  }
  for (const std::int64_t rows : {1, 16, 33, 70}) {
    const at::Tensor x = in_a_room(integers({1, 1, rows, 48}))[0][0];
    const std::int64_t panels = detail::in_panels(rows) / detail::kPanel;
    at::Tensor turned = at::full({panels, 48, detail::kPanel}, 9, at::kFloat);
    detail::transpose_to_panels(x.const_data_ptr<float>(), x.stride(0), rows, 48,
                                turned.mutable_data_ptr<float>());
    const at::Tensor filled = at::constant_pad_nd(x, {0, 0, 0, panels * detail::kPanel - rows});
    EXPECT_TRUE(turned.equal(filled.view({panels, detail::kPanel, 48}).transpose(1, 2))) << rows;
  }
}

}  // namespace
}  // namespace riesz::testing
