// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "riesz/nn/contraction/spec.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

Space of(const std::vector<std::int64_t>& shape) { return {Partition::simulated(2), shape}; }

TEST(Indices, AreReadFromTheirText) {
  EXPECT_EQ(detail::parse_indices("bti,oi->bto"), (detail::Indices{"bti", "oi", "bto"}));
  EXPECT_EQ(detail::parse_indices(",c->c"), (detail::Indices{"", "c", "c"}));
  EXPECT_EQ(detail::spec_of(detail::parse_indices("bti,iqhd->qbthd")), "bti,iqhd->qbthd");
}

TEST(Indices, SayWhatIsWrongWithTheirText) {
  EXPECT_ERROR(detail::parse_indices("bi->bo"), "\"bi->bo\" does not name two operands and a result",
               "bti,oi->bto");
  EXPECT_ERROR(detail::parse_indices("bi,oi"), "\"bi,oi\" does not name");
  EXPECT_ERROR(detail::parse_indices("bi->bo,oi"), "does not name");
  EXPECT_ERROR(detail::parse_indices("bii,oi->bo"), "the operand \"bii\"", "one twice");
  EXPECT_ERROR(detail::parse_indices("b i,oi->bo"), "the operand \"b i\"", "other than letters");
  EXPECT_ERROR(detail::parse_indices("b-,oi->bo"), "other than letters");
  EXPECT_ERROR(detail::parse_indices("bti,oi->bo"),
               "the index t of \"bti,oi->bo\" stands in one operand alone", "a contraction with ones first");
}

TEST(Indices, BindTheDimsOfAnyExtent) {
  const Space Y = Space(Partition::simulated(2), {Space::any, Space::any, 7}).sharded(0, "world");

  const Space bound = detail::bind(detail::parse_indices("bti,oi->bto"), of({5, 3, 4}), of({7, 4}), Y);

  EXPECT_EQ(bound, Space(Partition::simulated(2), {5, 3, 7}).sharded(0, "world"));
}

TEST(Indices, SayWhichExtentsOrUnitsDisagree) {
  const detail::Indices spec = detail::parse_indices("bi,oi->bo");

  EXPECT_ERROR(detail::bind(spec, of({5, 3}), of({7, 4}), of({5, 7})), "the index i has extent 3", "but 4",
               "(5, 3) on (world=2)", "(7, 4) on (world=2)");
  EXPECT_ERROR(detail::bind(spec, of({5, 4}), of({7, 4}), of({6, 7})), "the index b has extent 5", "but 6");
  EXPECT_ERROR(detail::bind(spec, of({5, 4}), of({8, 4}).unit(0, 2), of({5, 8})),
               "the index o has extent 8 in units of 2", "but 8 in units of 1");
  EXPECT_ERROR(detail::bind(spec, of({5, 4, 1}), of({7, 4}), of({5, 7})),
               "the operand \"bi\" has 2 dims, its space has 3");
}

}  // namespace
}  // namespace riesz::testing
