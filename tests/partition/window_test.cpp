// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz {
namespace {

void for_each_window(const std::function<void(const Window&)>& f) {
  for (int kernel = 1; kernel <= 4; ++kernel) {
    for (int stride = 1; stride <= 4; ++stride) {
      for (int dilation = 1; dilation <= 3; ++dilation) {
        for (int before = 0; before <= 4; ++before) {
          for (int after = 0; after <= 4; ++after) f({kernel, stride, dilation, before, after});
        }
      }
    }
  }
}

/// The positions that output j reads, by the definition.
std::vector<std::int64_t> read_by(const Window& window, std::int64_t j) {
  std::vector<std::int64_t> read;
  for (std::int64_t i = 0; i < window.kernel; ++i) {
    read.push_back(window.stride * j - window.padding_before + window.dilation * i);
  }
  return read;
}

TEST(Window, HasAsManyOutputsAsFitIn) {
  for_each_window([](const Window& window) {
    for (std::int64_t n = 0; n <= 7; ++n) {
      std::int64_t fit = 0;
      while (read_by(window, fit).back() < n + window.padding_after) ++fit;
      EXPECT_EQ(output_extent(window, n), fit);
    }
  });
}

/// Local position i of a worker's inputs and padding is global position reach.begin + i: the outputs' reads
/// are all inside, the ends are read, what is input is input, and what is padding is padding.
void expect_needed(const Window& window, std::int64_t n, const Interval& outputs) {
  const Need need = needed(window, n, outputs);
  std::set<std::int64_t> read;
  for (std::int64_t j = outputs.begin; j < outputs.end; ++j) {
    for (const std::int64_t i : read_by(window, j)) read.insert(i);
  }
  const Interval all{*read.begin(), *read.rbegin() + 1};
  ASSERT_EQ(reach(window, outputs), all);
  ASSERT_EQ(need.padding_before + need.inputs.size() + need.padding_after, all.size());
  std::vector<std::int64_t> inputs;
  for (std::int64_t i = all.begin; i < all.end; ++i) {
    if (0 <= i && i < n) inputs.push_back(i);
  }
  ASSERT_EQ(static_cast<std::int64_t>(inputs.size()), need.inputs.size());
  ASSERT_GE(need.inputs.begin, 0);
  ASSERT_LE(need.inputs.end, n);
  if (!inputs.empty()) {
    ASSERT_EQ(need.inputs, (Interval{inputs.front(), inputs.back() + 1}));
    ASSERT_EQ(need.inputs.begin - need.padding_before, all.begin);
  }
  ASSERT_EQ(need.padding_before, std::clamp<std::int64_t>(-all.begin, 0, all.size()));
  const Window local{window.kernel, window.stride, window.dilation, 0, 0};
  ASSERT_EQ(output_extent(local, all.size()), outputs.size());
}

TEST(Window, NeedsWhatItsOutputsRead) {
  int cases = 0;
  for_each_window([&](const Window& window) {
    for (std::int64_t n = 0; n <= 6; ++n) {
      const std::int64_t m = output_extent(window, n);
      for (std::int64_t begin = 0; begin <= m; ++begin) {
        EXPECT_EQ(needed(window, n, {begin, begin}).inputs.size(), 0);
        for (std::int64_t end = begin + 1; end <= m; ++end, ++cases) expect_needed(window, n, {begin, end});
      }
    }
  });
  EXPECT_GT(cases, 20000);
}

TEST(Window, RefusesWhatIsNone) {
  EXPECT_ERROR(output_extent({0}, 4), "Window{kernel 0, stride 1, dilation 1, padding 0 and 0}",
               "at least 1");
  EXPECT_ERROR(output_extent({2, 0}, 4), "stride 0", "at least 1");
  EXPECT_ERROR(reach({2, 1, 0}, {0, 1}), "dilation 0", "at least 1");
  EXPECT_ERROR(output_extent({2, 1, 1, -1}, 4), "padding -1 and 0", "zero or more");
  EXPECT_ERROR(output_extent({2}, -1), "an input of -1 elements");
  EXPECT_ERROR(needed({3}, 5, {1, 4}), "kernel 3", "the outputs [1,4) are not inside [0,3)", "an input of 5");
  EXPECT_ERROR(needed({3}, 5, {2, 1}), "[2,1)");
}

TEST(UpSampling, NeedsWhatItsOutputsRead) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    for (std::int64_t m = 1; m <= 9; ++m) {
      for (std::int64_t begin = 0; begin <= m; ++begin) {
        EXPECT_EQ(needed_nearest(n, m, {begin, begin}), Interval{});
        EXPECT_EQ(needed_linear(n, m, {begin, begin}, true), Interval{});
        for (std::int64_t end = begin + 1; end <= m; ++end) {
          std::set<std::int64_t> nearest, linear, aligned;
          for (std::int64_t j = begin; j < end; ++j) {
            // the definitions in doubles, away from rounding: j·n/m + ε
            const double e = 1e-9;
            const auto at = [&](double x) { return static_cast<std::int64_t>(std::max(0., x) + e); };
            const auto d = [](std::int64_t k) { return static_cast<double>(k); };
            nearest.insert(at(d(j) * d(n) / d(m)));
            const std::int64_t i = at((d(j) + 0.5) * d(n) / d(m) - 0.5);
            linear.insert({i, std::min(i + 1, n - 1)});
            const std::int64_t k = m == 1 ? 0 : at(d(j) * d(n - 1) / d(m - 1));
            aligned.insert({k, std::min(k + 1, n - 1)});
          }
          const auto hull = [](const std::set<std::int64_t>& set) {
            return Interval{*set.begin(), *set.rbegin() + 1};
          };
          EXPECT_EQ(needed_nearest(n, m, {begin, end}), hull(nearest));
          EXPECT_EQ(needed_linear(n, m, {begin, end}, false), hull(linear));
          EXPECT_EQ(needed_linear(n, m, {begin, end}, true), hull(aligned));
        }
      }
    }
  }
}

TEST(UpSampling, RefusesOutputsThatAreNone) {
  EXPECT_ERROR(needed_nearest(3, 6, {4, 7}), "needed_nearest", "[4,7) are not inside [0,6)");
  EXPECT_ERROR(needed_linear(0, 6, {0, 1}, true), "needed_linear", "an input of no elements");
  EXPECT_ERROR(needed_linear(-1, 6, {0, 1}, true), "not -1 and 6");
  EXPECT_EQ(needed_linear(0, 6, {0, 0}, true), Interval{});
}

TEST(Periodic, IsEachIndexModuloTheExtent) {
  for (std::int64_t n = 1; n <= 5; ++n) {
    for (std::int64_t begin = -12; begin <= 12; ++begin) {
      for (std::int64_t end = begin; end <= begin + 13; ++end) {
        const Intervals wrapped = periodic(n, {begin, end});
        std::vector<std::int64_t> found;
        for (const Interval& interval : wrapped) {
          EXPECT_GT(interval.size(), 0);
          EXPECT_LE(interval.end, n);
          for (std::int64_t i = interval.begin; i < interval.end; ++i) found.push_back(i);
        }
        std::vector<std::int64_t> expected;
        for (std::int64_t i = begin; i < end; ++i) expected.push_back(((i % n) + n) % n);
        EXPECT_EQ(found, expected);
        EXPECT_LE(static_cast<std::int64_t>(wrapped.size()), (end - begin + n - 1) / n + 1);
      }
    }
  }
  EXPECT_EQ(periodic(4, {-1, 6}), (Intervals{{3, 4}, {0, 4}, {0, 2}}));
  EXPECT_EQ(periodic(0, {3, 3}), Intervals{});
  EXPECT_ERROR(periodic(0, {3, 4}), "periodic: [3,4)", "no elements");
}

TEST(Covering, IsTheSpaceWithTheNeeds) {
  const Partition P = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});
  const Space X = Space(P, {6, 5}).sharded(0, "a").sharded(1, "b");

  const Space Y = covering(X, 0, {{{0, 4}}, {{2, 6}}});

  EXPECT_EQ(Y, Space(P, {6, 5}).sharded(1, "b").sharded(0, "a", Split::covering(6, {{{0, 4}}, {{2, 6}}})));
  EXPECT_TRUE(Y.copies(0));
  EXPECT_EQ(covering(Y, 0, {{{0, 3}}, {{3, 6}}}).local_shape(0), (std::vector<std::int64_t>{3, 3}));
}

TEST(Covering, LeavesWhatNobodyNeedsWithItsOwnerAfterItsNeeds) {
  const Partition P = Partition::simulated(3);
  const Space X = Space(P, {10}).sharded(0, "world", Split::sizes({5, 0, 5}));
  // kernel 1, stride 3: 0, 3, 6 and 9 are read
  const Space Y = covering(X, 0, {{{0, 1}}, {{3, 7}}, {{9, 10}}});

  EXPECT_EQ(to_string(Y), "(10) on (world=3): dim 0 over world as ([0,1),[1,3))+[3,7)+([9,10),[7,9))");
  const Space Z =
      covering(X.replicated("world").sharded(0, "world", Split::zigzag(10, 3)), 0, {{}, {{2, 4}}, {{4, 4}}});
  // zigzag owns [0,2)[9,10) + [2,4)[8,9) + [4,6)[6,8)
  EXPECT_EQ(Z.boxes(0), (Boxes{{{0, 2}, {9, 10}}}));
  EXPECT_EQ(Z.boxes(1), (Boxes{{{2, 4}, {8, 9}}}));
  EXPECT_EQ(total(Z.boxes(2).front()), 4);
}

TEST(Covering, RefusesWhatItCannotCover) {
  const Partition P = Partition::simulated(4).grid({{"a", 2}, {"b", 2}});
  const Space X = Space(P, {6, 5}).sharded(0, "a").sharded(0, "b");

  EXPECT_ERROR(covering(X, 0, {{}, {}}), "dim 0 of (6, 5)", "sharded by 2 axes", "by one axis");
  EXPECT_ERROR(covering(X, 1, {{}, {}}), "dim 1 of (6, 5)", "sharded by 0 axes");
  EXPECT_ERROR(covering(X, 2, {{}, {}}), "dim 2 of (6, 5)");
  EXPECT_ERROR(covering(X.replicated("b"), 0, {{}}), "1 workers' needs", "axis a", "has 2");
  EXPECT_ERROR(covering(X.replicated("b"), 0, {{{0, 7}}, {}}), "[0,7) is not inside [0,6)", "clip", "wrap");
  EXPECT_ERROR(covering(X.replicated("b"), 0, {{{-1, 7}}, {}}), "[-1,7) is not inside [0,6)");
}

}  // namespace
}  // namespace riesz
