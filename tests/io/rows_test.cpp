// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows that each worker makes for itself, and images of cells that are made so.
#include "riesz/io/rows.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/io/cells.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// Numbers by place, and how many of them were made.
struct Counted {
  at::Tensor all = at::arange(6 * 4 * 5, at::kDouble).view({6, 4, 5});
  std::shared_ptr<std::int64_t> made = std::make_shared<std::int64_t>(0);

  Rows rows() const {
    return {{6, 4, 5}, at::kDouble, [all = all, made = made](const Box& box) {
              *made += volume(box);
              return narrow(all, box).contiguous();
            }};
  }
};

TEST(MadeRows, AreMadeByWhoHoldsThem) {
  const int p = Runtime::size();
  const Partition mesh = Partition::world().grid({{"dp", p % 2 == 0 ? 2 : 1}, {"w", p % 2 == 0 ? p / 2 : p}});
  const Space any(mesh, {Space::any, 4, 5});
  for (const Space& X : {any, any.sharded(0, "dp"), any.sharded(0, "dp").sharded(2, "w"),
                         any.sharded(1, "w").sharded(1, "dp")}) {
    const Counted counted;
    const Vector x = counted.rows().in(X);
    EXPECT_EQ(x.space(), X.with_shape({6, 4, 5}));
    EXPECT_TRUE(x.local().equal(distribute(x.space(), counted.all).local())) << to_string(X);
    EXPECT_EQ(*counted.made, x.local().numel());
  }
}

TEST(MadeRows, ArePartsAndOtherTypes) {
  const Counted counted;
  const Rows part = counted.rows().part({1, 5}).to(at::kFloat).part({2, 4});
  EXPECT_EQ(part.shape(), (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_TRUE(part.whole().equal(counted.all.narrow(0, 3, 2).to(at::kFloat)));
  EXPECT_TRUE(part.whole().equal(Rows(counted.all).part({3, 5}).to(part.type()).whole()));
  EXPECT_TRUE(part.is_made());
  EXPECT_FALSE(Rows(counted.all).is_made());
}

TEST(MadeRows, OfAPartitionElsewhereAreMadeThere) {
  const Counted counted;
  const Vector x = counted.rows().in(Space(Partition::world().subset({0}), {Space::any, 4, 5}));
  EXPECT_EQ(*counted.made, Runtime::rank() == 0 ? 120 : 0);
  EXPECT_EQ(x.local().numel(), *counted.made);
}

TEST(CellImages, AreTheSameInEveryBox) {
  const CellImages cells(24, 5);
  const std::vector<std::int64_t> numbers{7, 0};
  const at::Tensor pixels = cells.pixels(numbers, {0, 24}, {0, 24}),
                   truth = cells.label_maps(numbers, {0, 24}, {0, 24});
  EXPECT_EQ(pixels.sizes(), (std::vector<std::int64_t>{2, 1, 24, 24}));
  const at::Tensor some = cells.pixels({0}, {5, 18}, {11, 12}),
                   labels = cells.label_maps({0}, {5, 18}, {11, 12});
  EXPECT_TRUE(some[0].equal(pixels[1].narrow(1, 5, 13).narrow(2, 11, 1)));
  EXPECT_TRUE(labels[0].equal(truth[1].narrow(0, 5, 13).narrow(1, 11, 1)));
  EXPECT_FALSE(CellImages(24, 6).pixels(numbers, {0, 24}, {0, 24}).equal(pixels));
}

TEST(CellImages, HaveAllLabelsAndAboutUnitSize) {
  const CellImages cells(32, 1);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < 200; ++i) numbers.push_back(i);
  const at::Tensor truth = cells.label_maps(numbers, {0, 32}, {0, 32}),
                   pixels = cells.pixels(numbers, {0, 32}, {0, 32});
  const auto share = [&](std::int64_t label) {
    return truth.eq(label).to(at::kDouble).mean().item<double>();
  };
  EXPECT_GT(share(0), 0.6);
  EXPECT_GT(share(1), 0.05);
  EXPECT_GT(share(2), 0.05);
  EXPECT_EQ(truth.max().item<std::int64_t>(), 2);
  EXPECT_NEAR(pixels.mean().item<double>(), 0, 0.15);
  EXPECT_NEAR(pixels.std().item<double>(), 1, 0.15);
  const at::Tensor background = pixels.select(1, 0).masked_select(truth.eq(0));
  EXPECT_NEAR(background.std().item<double>(), 0.625, 0.02) << "the noise, of a tenth of grey";
  EXPECT_ERROR(CellImages(15, 1), "CellImages: 15 x 15 pixels");
}

}  // namespace
}  // namespace riesz::testing
