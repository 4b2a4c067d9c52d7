// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// An axis of experts among the axes of a layout.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/partition.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"

namespace riesz {
namespace {

using Names = std::vector<std::string>;
using Keys = Config::Layout;

std::string axes_text(const Keys& layout) {
  std::string text;
  for (const Axis& axis : job_axes(layout)) text += concat(axis.name, "=", axis.extent, " ");
  return text;
}

Names tokens_of(const Keys& layout) {
  const auto workers = static_cast<int>(job_size(layout, 64).value());
  return token_axes(layout, Partition::simulated(workers).grid(job_axes(layout)));
}

TEST(LayoutOfExperts, HasAnAxisThatIsPartOfDpOrOfTp) {
  const Keys in_dp{.dp = 2, .tp = 3, .ep = 4, .pp = 2}, in_tp{.dp = 2, .tp = 3, .ep = 4, .experts = "tp"};
  EXPECT_EQ(axes_text(in_dp), "pp=2 dp=2 ep=4 tp=3 ");
  EXPECT_EQ(axes_text(in_tp), "dp=2 tp=3 ep=4 ");
  EXPECT_EQ(axes_text({.ep = 2, .sp = 2, .sequence = "ring"}), "dp=1 ep=2 sp=2 tp=1 ");
  EXPECT_EQ(axes_text({.experts = "tp"}), "dp=1 tp=1 ");
  EXPECT_EQ(tokens_of(in_dp), (Names{"dp", "ep"}));
  EXPECT_EQ(tokens_of(in_tp), (Names{"dp"}));
  EXPECT_EQ(tokens_of({.ep = 2, .sp = 2, .sequence = "ring"}), (Names{"dp", "ep", "sp"}));
  EXPECT_ERROR(layout_axes({.tp = 4, .ep = 2, .experts = "tp", .tensor = "2d"}),
               "layout.experts = \"tp\" makes layout.ep a part of the axis tp",
               "set layout.tensor to \"1d\"");
}

/// Experts that take their workers from dp are the grid in which dp is seen as two axes; from tp, likewise.
TEST(LayoutOfExperts, IsAnAxisSeenAsTwo) {
  const Partition in_dp =
      Partition::simulated(8).grid({{"dp", 4}, {"tp", 2}}).factor("dp", {{"dp", 2}, {"ep", 2}});
  EXPECT_EQ(in_dp, Partition::simulated(8).grid(layout_axes({.dp = 2, .tp = 2, .ep = 2})));
  const Partition in_tp =
      Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}}).factor("tp", {{"tp", 2}, {"ep", 2}});
  EXPECT_EQ(in_tp, Partition::simulated(8).grid(layout_axes({.dp = 2, .tp = 2, .ep = 2, .experts = "tp"})));
}

TEST(LayoutOfExperts, IsCountedAndNamed) {
  EXPECT_EQ(product_of({.dp = 2, .ep = 3}), "layout.dp x layout.ep x layout.sp x layout.tp = 2 x 3 x 1 x 1");
  EXPECT_EQ(job_size({.dp = 2, .tp = 5, .ep = 3, .pp = 2}, 60), 60);
  EXPECT_EQ(job_size({.dp = 2, .tp = 5, .ep = 3, .pp = 2}, 59), std::nullopt);
  EXPECT_EQ(possible_layouts(6, {.ep = 4}),
            "on 6 ranks: layout.ep = 6 or 3 or 2 or 1, times layout.dp and others to make 6");
  EXPECT_EQ(
      possible_layouts(8, {.ep = 2, .pp = 2}),
      "on 8 ranks with layout.pp = 2 and layout.ep = 2: layout.dp = 1, layout.tp = 2, or layout.dp = 2, "
      "layout.tp = 1");
}

TEST(LayoutOfExperts, IsNamedToAModelThatHasSome) {
  Config config;
  config.model.kind = "gpt2_moe";
  const std::string shared = "layout.tp = 1; or, where workers share the experts out, ";
  EXPECT_ERROR(check_config(config, 2), shared + "layout.dp = 1, layout.ep = 2, layout.tp = 1");
  config.layout.pp = 2;
  EXPECT_ERROR(check_config(config, 6), shared + "layout.dp = 1, layout.ep = 3, layout.tp = 1");
}

TEST(LayoutOfExperts, IsRefusedWhereThereAreNone) {
  Config config;
  config.model.kind = "llama";
  config.layout.ep = 2;
  EXPECT_ERROR(check_config(config, 2), "layout.ep = 2", "model.kind = \"llama\"",
               "has none; set layout.ep to 1");
  config.model.kind = "mixtral";
  config.model.width = 24, config.model.heads = 3;
  EXPECT_NO_THROW(check_config(config, 2));
  config.optimizer.kind = "one_bit_adam";
  config.optimizer.clip = 0;
  EXPECT_ERROR(check_config(config, 2), "layout.ep = 2", "averages momenta", "take another optimizer");
  config.layout.experts = "tp";
  EXPECT_NO_THROW(check_config(config, 2));
}

}  // namespace
}  // namespace riesz
