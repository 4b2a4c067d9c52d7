// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/agreement/alike.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

TEST(CheckAlike, NamesTheFirstRankThatDiffers) {
  const Partition world = Partition::world();
  EXPECT_NO_THROW(check_alike(world, "the data", ~std::uint64_t{0}));
  if (Runtime::size() < 2) return;
  EXPECT_ERROR(check_alike(world, "the data", Runtime::rank() == 1 ? 7 : 8),
               "the data differs between rank 0 and rank 1");
}

TEST(CheckAlike, NamesTheAxisTheElementBothWorkersAndTheirValues) {
  if (Runtime::size() % 2 != 0) return;
  const int half = Runtime::size() / 2;
  const Partition P = Partition::world().grid({{"dp", half}, {"tp", 2}});
  const Space X = Space(P, {4 * half, 50}).sharded(0, "dp");
  const at::Tensor x = at::arange(200, at::kFloat).view({4, 50}).clone();
  EXPECT_NO_THROW(check_alike("x", X, x));
  EXPECT_NO_THROW(check_alike("x", X.copied("tp"), x));
  if (P.rank() == 1) x[2][7].fill_(0.1);
  if (P.rank() == 1) x[3][8].fill_(-3);

  if (P.coordinate(P.rank(), 0) == 0) {
    EXPECT_ERROR(check_alike("the input of Copy", X, x),
                 "the input of Copy is Replicated on axis tp, in (" + std::to_string(4 * half) + ", 50)",
                 "but rank 0 has 107 at (2, 7) and rank 1 has 0.10000000149011612 at (2, 7)",
                 "the same data, seed and computation");
  } else {
    EXPECT_NO_THROW(check_alike("the input of Copy", X, x));
  }
  EXPECT_NO_THROW(check_alike("terms", X.partial("tp"), x));
}

TEST(CheckAlike, GivesGlobalIndicesOfWhateverIntervals) {
  if (Runtime::size() != 4) return;
  const Partition P = Partition::world().grid({{"cp", 2}, {"tp", 2}});
  const Space X = Space(P, {8}).sharded(0, "cp", Split::zigzag(8, 2)).copied("tp");  // 0 1 6 7 and 2 3 4 5
  const at::Tensor x = at::zeros({4}, at::kLong);
  if (P.rank() == 1) x[2].fill_(5);

  if (P.rank() < 2)
    EXPECT_ERROR(check_alike("x", X, x), "is Copied on axis tp",
                 "rank 0 has 0 at (6) and rank 1 has 5 at (6)");
  else
    EXPECT_NO_THROW(check_alike("x", X, x));
}

TEST(CheckAlike, FindsADifferenceOnAnyAxis) {
  if (Runtime::size() != 4) return;
  const Partition P = Partition::world().grid({{"dp", 2}, {"tp", 2}});
  const at::Tensor x = at::full({3}, P.coordinate(P.rank(), 0), at::kDouble);

  EXPECT_ERROR(check_alike("x", Space(P, {3}), x), "is Replicated on axis dp",
               "rank 0 has 0 at (0) and rank 2 has 1 at (0)");
}

TEST(CheckAlike, ComparesBitsAndTypesAndWhatLazyTensorsStandFor) {
  const int last = Runtime::size() - 1;
  const Space X(Partition::world(), {2});
  const at::Tensor z = at::complex(at::arange(2, at::kDouble), at::arange(2, at::kDouble).add(1));
  const at::Tensor conjugate = z.conj();
  EXPECT_NO_THROW(check_alike("z", X, Runtime::rank() == last ? conjugate : conjugate.resolve_conj()));
  if (last == 0) return;

  EXPECT_ERROR(check_alike("z", X, Runtime::rank() == last ? conjugate : z), "has (0,1) at (0)",
               "has (0,-1) at (0)");
  EXPECT_ERROR(check_alike("x", X, at::zeros({2}, Runtime::rank() == last ? at::kFloat : at::kDouble)),
               "rank 0 has elements of Double", "has elements of Float");
  EXPECT_ERROR(check_alike("x", X, at::full({2}, Runtime::rank() == last ? -0. : 0., at::kDouble)),
               "rank 0 has 0 at (0)", "has -0 at (0)");
}

TEST(CheckAlike, CostsSixteenBytesToEachWorkerThatMustHaveTheSame) {
  const Space X(Partition::world(), {1000});
  Counters::instance().reset();

  check_alike("x", X, at::zeros({1000}));

  const std::int64_t others = Runtime::size() - 1;
  EXPECT_EQ(Counters::instance().by_operation()["CheckAlike"], (Traffic{2 * others, 16 * others, others}));
}

TEST(CollectTexts, TakesAnyLengths) {
  const auto text = [](int rank) { return std::string(static_cast<std::size_t>(3 * rank), 'x'); };

  const std::vector<std::string> all = collect_texts(Partition::world(), text(Runtime::rank()));

  for (int rank = 0; rank < Runtime::size(); ++rank)
    EXPECT_EQ(all[static_cast<std::size_t>(rank)], text(rank));
}

TEST(DigestBuilder, ChangesWithEveryBitAndWithTheSignsOfAll) {
  std::set<std::uint64_t> seen;
  std::string bytes(67, '\0');
  for (const std::size_t count : {0UL, 1UL, 31UL, 32UL, 33UL, 66UL}) seen.insert(digest(bytes.data(), count));
  seen.insert(digest(bytes));
  EXPECT_EQ(seen.size(), 7U);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const char before = bytes[bit / 8];
    bytes[bit / 8] = static_cast<char>(before ^ (1 << bit % 8));
    seen.insert(digest(bytes));
    bytes[bit / 8] = before;
  }
  EXPECT_EQ(seen.size(), 7U + 8 * bytes.size());
  const at::Tensor x = at::arange(64, at::kDouble).add(1);
  EXPECT_NE(digest(x.const_data_ptr(), x.nbytes()), digest(x.neg().const_data_ptr(), x.nbytes()));
}

}  // namespace
}  // namespace riesz
