// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/space.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/partition/space_dims.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/print.h"

namespace riesz {
namespace {

using Shape = std::vector<std::int64_t>;

Partition grid_2x2() { return Partition::simulated(4).grid({{"a", 2}, {"b", 2}}); }

std::vector<std::int64_t> sizes_by_rank(const Space& X) {
  std::vector<std::int64_t> sizes;
  for (int rank = 0; rank < X.partition().size(); ++rank) sizes.push_back(X.local_shape(rank).front());
  return sizes;
}

TEST(Placement, DualSwapsCopiedAndPartial) {
  EXPECT_EQ(dual(Placement::Sharded), Placement::Sharded);
  EXPECT_EQ(dual(Placement::Replicated), Placement::Replicated);
  EXPECT_EQ(dual(Placement::Copied), Placement::Partial);
  EXPECT_EQ(dual(Placement::Partial), Placement::Copied);
  EXPECT_EQ(to_string(Placement::Copied), "Copied");
}

TEST(Space, IsReplicatedToBeginWith) {
  const Space X(grid_2x2(), {3, 2});

  EXPECT_EQ(X.placement("a"), Placement::Replicated);
  EXPECT_EQ(X.placement("b"), Placement::Replicated);
  EXPECT_EQ(X.numel(), 6);
  EXPECT_EQ(X.dims(), 2);
  EXPECT_EQ(X.local_shape(), (Shape{3, 2}));
  EXPECT_EQ(Space(grid_2x2(), {}).numel(), 1);
  EXPECT_EQ(Space(grid_2x2(), {}).box(3), Box{});
}

TEST(Space, SplitsNestMajorToMinor) {
  const Space X(grid_2x2(), {6});

  EXPECT_EQ(sizes_by_rank(X.sharded(0, "a").sharded(0, "b")), (Shape{2, 1, 2, 1}));
  EXPECT_EQ(X.sharded(0, "a").sharded(0, "b").box(2), (Box{{3, 5}}));
  EXPECT_EQ(sizes_by_rank(X.sharded(0, "b").sharded(0, "a")), (Shape{2, 2, 1, 1}));
  EXPECT_EQ(X.sharded(0, "b").sharded(0, "a").box(1), (Box{{3, 5}}));
}

TEST(Space, KeepsUnitsWhole) {
  const Space X = Space(grid_2x2(), {10}).unit(0, 2).sharded(0, "a").sharded(0, "b");

  EXPECT_EQ(sizes_by_rank(X), (Shape{4, 2, 2, 2}));
  EXPECT_EQ(X.unit_of(0), 2);
  EXPECT_ERROR(Space(grid_2x2(), {7}).unit(0, 2), "7, dim 0 of (7)", "units of 2");
  EXPECT_ERROR(Space(grid_2x2(), {8}).unit(1, 2), "dim 1 of (8)");
  EXPECT_ERROR(Space(grid_2x2(), {8}).unit(0, 0), "units of 0");
}

TEST(Space, TakesSplitsAsGiven) {
  const Space X = Space(grid_2x2(), {6}).sharded(0, "a", Split::sizes({0, 6})).sharded(0, "b");

  EXPECT_EQ(sizes_by_rank(X), (Shape{0, 0, 3, 3}));
  const Space Y = Space(grid_2x2(), {6}).sharded(0, "a", Split::sizes({1, 5}));
  EXPECT_EQ(sizes_by_rank(Y), (Shape{1, 1, 5, 5}));
  EXPECT_ERROR(Space(grid_2x2(), {6}).sharded(0, "a", Split::sizes({1, 4})),
               "the split 1+4 has 5 elements where 6");
  EXPECT_ERROR(Space(grid_2x2(), {6}).sharded(0, "a", Split::sizes({1, 2, 3})),
               "is for 3 workers, but axis a has 2");
  EXPECT_ERROR(Space(grid_2x2(), {6}).unit(0, 2).sharded(0, "a", Split::sizes({1, 5})), "breaks units of 2");
}

TEST(Space, SeesASplitThatFitsNotOnEveryWorkerOnAll) {
  // a gives 3 and 2 elements: the split of 3 fits the first half only, which no worker may overlook
  for (int me = 0; me < 4; ++me) {
    const Partition P = Partition::simulated(4, me).grid({{"a", 2}, {"b", 2}});
    EXPECT_ERROR(Space(P, {5}).sharded(0, "a").sharded(0, "b", Split::sizes({1, 2})),
                 "has 3 elements where 2");
  }
}

TEST(Space, BoxesTileTheShape) {
  testing::for_each_grid(Partition::world(), [](const Partition& grid) {
    const int axes = static_cast<int>(grid.axes().size());
    for (int layout = 0; layout < 27;
         ++layout) {  // each axis on dim 0, on dim 1, or on none; in order and reversed
      for (const bool reversed : {false, true}) {
        Space X(grid, {5, 3});
        for (int i = 0, code = layout; i < axes; ++i, code /= 3) {
          const std::string axis = grid.axis(reversed ? axes - 1 - i : i).name;
          if (code % 3 < 2) X = X.sharded(code % 3, axis);
        }
        std::vector<int> owners(15, 0);
        for (int rank = 0; rank < grid.size(); ++rank) {
          if (X.leader(rank, {Placement::Replicated}) != rank) continue;
          const Box box = X.box(rank);
          for (std::int64_t i = box[0].begin; i < box[0].end; ++i) {
            for (std::int64_t j = box[1].begin; j < box[1].end; ++j)
              ++owners[static_cast<std::size_t>(3 * i + j)];
          }
        }
        EXPECT_EQ(owners, std::vector<int>(15, 1)) << to_string(X);
      }
    }
  });
}

TEST(Space, LocalShapeIsTheBoxesOrNoneOutside) {
  const Partition world = Partition::world();
  const Space X = Space(world, {7, 2}).sharded(0, "world");
  EXPECT_EQ(X.local_shape(), X.local_shape(world.rank()));
  EXPECT_EQ(X.local_shape(0).front(), Split::balanced(7, world.size())[0].size());

  const Space Y(world.subset({0}), {7, 2});
  EXPECT_EQ(Y.local_shape(), world.rank() == 0 ? (Shape{7, 2}) : Shape{0});
  EXPECT_EQ(Y.local_shape(0), (Shape{7, 2}));
}

TEST(Space, LeadersAreTheFirstOfTheFibre) {
  const Space X =
      Space(Partition::simulated(8).grid({{"a", 2}, {"b", 2}, {"c", 2}}), {4}).sharded(0, "a").copied("b");

  EXPECT_EQ(X.leader(7, {Placement::Replicated}), 6);
  EXPECT_EQ(X.leader(7, {Placement::Copied}), 5);
  EXPECT_EQ(X.leader(7, {Placement::Replicated, Placement::Copied}), 4);
  EXPECT_EQ(X.leader(7, {}), 7);
}

TEST(Dual, OfTheDualIsTheSpace) {
  const Space X = Space(grid_2x2(), {6, 4}).unit(0, 2).sharded(0, "a", Split::sizes({2, 4}));
  for (const Space& Y : {X, X.copied("b"), X.partial("b"), X.sharded(0, "b"), X.sharded(1, "b")}) {
    EXPECT_EQ(dual(dual(Y)), Y);
    EXPECT_EQ(dual(Y).shape(), Y.shape());
    EXPECT_EQ(dual(Y).local_shape(), Y.local_shape());
  }
  EXPECT_EQ(dual(X), X);
  EXPECT_EQ(dual(X.copied("b")), X.partial("b"));
  EXPECT_NE(dual(X.copied("b")), X.copied("b"));
}

TEST(Space, EqualityIsOfEveryPart) {
  const Space X = Space(grid_2x2(), {6, 6}).sharded(0, "a").sharded(0, "b");

  EXPECT_EQ(X, Space(grid_2x2(), {6, 6}).sharded(0, "a").sharded(0, "b"));
  EXPECT_NE(X, Space(grid_2x2(), {6, 6}).sharded(0, "b").sharded(0, "a"));  // the order of axes
  EXPECT_NE(X, Space(grid_2x2(), {6, 6}).sharded(1, "a").sharded(1, "b"));
  EXPECT_NE(X, X.unit(0, 2));
  EXPECT_NE(X, X.with_shape({6, 8}));
  EXPECT_NE(X, X.replicated("b"));
  EXPECT_NE(X.copied("b"), X.partial("b"));
  EXPECT_NE(
      X, Space(Partition::simulated(4).grid({{"b", 2}, {"a", 2}}), {6, 6}).sharded(0, "a").sharded(0, "b"));
}

TEST(Space, EqualityIsByMeaning) {
  const Partition grid = Partition::simulated(4).grid({{"a", 2}, {"b", 2}, {"one", 1}});
  const Space X = Space(grid, {7, 6}).sharded(0, "a");
  const Space spelled_out = Space(grid, {7, 6}).sharded(0, "a", Split::balanced(7, 2));

  EXPECT_EQ(X, spelled_out);
  EXPECT_EQ(dual(X), dual(spelled_out));
  EXPECT_EQ(X.sharded(0, "b"), spelled_out.sharded(0, "b"));
  EXPECT_NE(X, Space(grid, {7, 6}).sharded(0, "a", Split::sizes({3, 4})));
  EXPECT_NE(X.sharded(1, "b"), spelled_out.copied("b"));
  EXPECT_NE(X.copied("b"), X);
  EXPECT_NE(X.copied("one"), X);  // refused on one worker as on many
  EXPECT_NE(Space(grid, {Space::any, 6}).sharded(0, "a"), X);
}

TEST(Space, PlacesAnAxisAnew) {
  const Space X = Space(grid_2x2(), {6}).sharded(0, "a").sharded(0, "b");

  EXPECT_EQ(X.copied("a"), Space(grid_2x2(), {6}).sharded(0, "b").copied("a"));
  EXPECT_EQ(X.dim_of(0), 0);
  EXPECT_EQ(X.copied("a").dim_of(0), -1);
  EXPECT_ERROR(X.sharded(0, "a"), "axis a shards dim 0", "an axis shards one dim");
  EXPECT_ERROR(X.replicated("b").sharded(1, "b"), "dim 1 of (6)");
  EXPECT_ERROR(X.copied("c"), "no axis is named \"c\"");
  EXPECT_ERROR(X.placed("a", Placement::Sharded), "say which dim axis a shards");
  EXPECT_ERROR(Space(grid_2x2(), {-2}), "an extent of -2");
}

TEST(Space, OfAnyExtentIsMadeConcreteByAShape) {
  const Space X = Space(grid_2x2(), {Space::any, 4}).unit(0, 3).sharded(0, "a");

  EXPECT_FALSE(X.concrete());
  EXPECT_ERROR(X.box(0), "(any, 4)", "a dim of any extent");
  EXPECT_ERROR(X.numel(), "a dim of any extent");
  const Space Y = X.with_shape({9, 4});
  EXPECT_TRUE(Y.concrete());
  EXPECT_EQ(Y.local_shape(0), (Shape{6, 4}));
  EXPECT_EQ(Y.with_shape({Space::any, 4}), X);
  EXPECT_ERROR(X.with_shape({9}), "(9) has 1 dims");
}

TEST(Space, WithAShapeThatBreaksUnitsIsRefusedByEveryWorker) {
  for (int me = 0; me < 4; ++me) {
    const Partition P = Partition::simulated(4, me);
    EXPECT_ERROR(Space(P, {Space::any}).unit(0, 4).with_shape({6}), "6", "units of 4");
    EXPECT_ERROR(Space(P.subset({0, 1}), {Space::any}).unit(0, 4).sharded(0, "subset").with_shape({6}), "6",
                 "units of 4");
    EXPECT_ERROR(Space(P, {4}).with_shape({-3}), "an extent of -3");
  }
}

TEST(Space, PrintsWhoHoldsWhat) {
  const Partition P = Partition::simulated(8).grid({{"dp", 2}, {"tp", 4}});

  EXPECT_EQ(to_string(Space(P, {8, 128, 512}).sharded(0, "dp")),
            "(8, 128, 512) on (dp=2, tp=4): dim 0 over dp, tp replicated");
  EXPECT_EQ(to_string(Space(P, {Space::any, 6}).unit(1, 3).sharded(1, "tp").sharded(1, "dp")),
            "(any, 6) on (dp=2, tp=4): dim 1 over tp then dp in units of 3");
  EXPECT_EQ(to_string(Space(P, {5}).sharded(0, "dp", Split::sizes({4, 1})).partial("tp")),
            "(5) on (dp=2, tp=4): dim 0 over dp as 4+1, tp partial");
  EXPECT_EQ(to_string(Space(P, {}).copied("dp")), "() on (dp=2, tp=4): dp copied, tp replicated");
}

Split halo() { return Split::covering(6, {{{0, 4}}, {{2, 6}}}); }

TEST(Space, HoldsListsAndOverlapsAsGiven) {
  const Space X = Space(grid_2x2(), {6, 4}).sharded(0, "a", halo()).sharded(1, "b", Split::zigzag(4, 2));

  EXPECT_EQ(X.boxes(0), (Boxes{{{0, 4}}, {{0, 1}, {3, 4}}}));
  EXPECT_EQ(X.boxes(3), (Boxes{{{2, 6}}, {{1, 3}}}));  // chunks that follow each other are one interval
  EXPECT_EQ(X.local_shape(), (Shape{4, 2}));
  EXPECT_EQ(X.numel(), 24);
  EXPECT_TRUE(X.copies(0));
  EXPECT_FALSE(X.terms(0));
  EXPECT_FALSE(X.copies(1));
  EXPECT_ERROR(X.box(0), "holds several intervals of a dim", "boxes(rank)");
  EXPECT_EQ(X.box(3), (Box{{2, 6}, {1, 3}}));
  EXPECT_EQ(to_string(X),
            "(6, 4) on (a=2, b=2): dim 0 over a as [0,4)+[2,6), "
            "dim 1 over b as ([0,1),[3,4))+([1,2),[2,3))");
}

TEST(Space, OnAnAxisOfAnotherExtentOverlapsAreCopiesOrTermsStill) {
  const Space X = Space(grid_2x2(), {6, 4}).sharded(0, "a", halo());
  const Partition four = Partition::simulated(4).grid({{"a", 4}});

  EXPECT_EQ(X.on(four), Space(four, {6, 4}).copied("a"));
  EXPECT_EQ(dual(X).on(four), dual(X.on(four)));
  EXPECT_EQ(dual(X).on(grid_2x2()), dual(X));
}

TEST(Space, SplitsNestInLists) {
  // zigzag gives [0,3)[9,12) and [3,9); each is split in two by its local indices
  const Space X = Space(grid_2x2(), {12}).sharded(0, "a", Split::zigzag(12, 2)).sharded(0, "b");

  EXPECT_EQ(X.boxes(0), (Boxes{{{0, 3}}}));
  EXPECT_EQ(X.boxes(1), (Boxes{{{9, 12}}}));
  EXPECT_EQ(X.boxes(2), (Boxes{{{3, 6}}}));
  const Space Y = Space(grid_2x2(), {12}).sharded(0, "a").sharded(0, "b", Split::zigzag(6, 2));
  EXPECT_EQ(Y.boxes(2), (Boxes{{{6, 8}, {11, 12}}}));
  EXPECT_EQ(sizes_by_rank(Y), (Shape{3, 3, 3, 3}));
}

TEST(Space, RefusesASecondAxisWhereSplitsOverlap) {
  const Space X = Space(grid_2x2(), {6, 4}).sharded(0, "a", halo());

  EXPECT_ERROR(X.sharded(0, "b"), "an overlapping split shards its dim alone", "axis b", "dim 0 of (6, 4)");
  EXPECT_ERROR(Space(grid_2x2(), {6, 4}).sharded(0, "b").sharded(0, "a", halo()),
               "an overlapping split shards its dim alone", "axis a");
  EXPECT_EQ(X.replicated("a").sharded(0, "b").placement("b"), Placement::Sharded);
  EXPECT_ERROR(Space(grid_2x2(), {6}).unit(0, 4), "6, dim 0", "units of 4");
  EXPECT_ERROR(Space(grid_2x2(), {6}).unit(0, 3).sharded(0, "a", halo()), "[0,4)+[2,6) breaks units of 3");
  EXPECT_ERROR(X.with_shape({8, 4}), "the split [0,4)+[2,6) has 6 elements where 8");
  EXPECT_EQ(Space(grid_2x2(), {Space::any, 4}).sharded(0, "a", halo()).with_shape({6, 4}), X);
}

TEST(Space, CountsAnAxisOfOneWorkerOnlyWhereItOverlaps) {
  const Partition P = Partition::simulated(2).grid({{"a", 1}, {"b", 2}});
  const Space X(P, {3});
  const Split twice = Split::covering(3, {{{2, 3}, {0, 3}}});

  EXPECT_FALSE(X.counts(0));
  EXPECT_FALSE(X.sharded(0, "a").counts(0));
  EXPECT_TRUE(X.sharded(0, "a", twice).counts(0));
  EXPECT_TRUE(X.counts(1));
  EXPECT_EQ(X.sharded(0, "a", twice).local_shape(), (Shape{4}));
}

TEST(Dual, OfCopiesThatOverlapAreTerms) {
  const Space X = Space(grid_2x2(), {6, 4}).sharded(0, "a", halo()).copied("b");
  const Space Y = Space(grid_2x2(), {6, 4}).sharded(0, "a", halo(), true).partial("b");

  EXPECT_EQ(dual(X), Y);
  EXPECT_EQ(dual(Y), X);
  EXPECT_NE(X, Y);
  EXPECT_NE(dual(X.replicated("b")), X.replicated("b"));
  EXPECT_TRUE(Y.terms(0));
  EXPECT_FALSE(Y.copies(0));
  EXPECT_EQ(dual(X).local_shape(), X.local_shape());
  EXPECT_EQ(to_string(Y), "(6, 4) on (a=2, b=2): dim 0 over a as [0,4)+[2,6) in terms, b partial");
  const Space plain = Space(grid_2x2(), {6, 4}).sharded(0, "a", Split::zigzag(6, 2), true);
  EXPECT_FALSE(plain.terms(0));  // nothing overlaps
  EXPECT_EQ(dual(plain), plain);
}

TEST(Matches, TakesAnyExtentWithTheSameLayOut) {
  const Space pattern = Space(grid_2x2(), {Space::any, 4}).sharded(0, "a");

  EXPECT_TRUE(matches(pattern.with_shape({9, 4}), pattern));
  EXPECT_FALSE(matches(pattern.with_shape({9, 4}).copied("b"), pattern));
  EXPECT_FALSE(matches(Space(grid_2x2(), {9, 5}).sharded(0, "a"), pattern));
  EXPECT_FALSE(matches(Space(grid_2x2(), {9}).sharded(0, "a"), pattern));
}

TEST(SplitOf, IsTheGivenOneOrBalancedInWholeUnits) {
  const Space X = Space(grid_2x2(), {6, 4}).unit(0, 2).sharded(0, "a");
  const Split given = Split::sizes({1, 3});

  EXPECT_EQ(split_of(X, 0), Split::sizes({4, 2}));
  EXPECT_EQ(split_of(X.sharded(1, "b", given), 1), given);
}

TEST(Space, IsInZigzagWhateverTheExtent) {
  const Space pattern = Space(grid_2x2(), {Space::any, 4}).zigzag(0, "a").sharded(0, "b");
  const Space balanced = Space(grid_2x2(), {Space::any, 4}).sharded(0, "a").sharded(0, "b");

  for (const std::int64_t n : {0, 1, 7, 8}) {
    const Space bound = pattern.with_shape({n, 4});
    EXPECT_EQ(bound, Space(grid_2x2(), {n, 4}).sharded(0, "a", Split::zigzag(n, 2)).sharded(0, "b"));
    EXPECT_EQ(bound, Space(grid_2x2(), {n, 4}).zigzag(0, "a").sharded(0, "b"));
    EXPECT_TRUE(matches(bound, pattern));
    EXPECT_EQ(select_dims(pattern, {0}).with_shape({n}), select_dims(bound, {0}));
  }
  EXPECT_NE(pattern, balanced);
  EXPECT_FALSE(matches(balanced.with_shape({7, 4}), pattern));
  EXPECT_EQ(to_string(pattern), "(any, 4) on (a=2, b=2): dim 0 over a in zigzag then b");
  EXPECT_ERROR(Space(grid_2x2(), {6}).sharded(0, "b").zigzag(0, "a"),
               "axis a would be the second to shard dim 0", "it must be the first");
}

}  // namespace
}  // namespace riesz
