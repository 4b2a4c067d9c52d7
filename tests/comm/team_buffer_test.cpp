// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/transports/router.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};

struct Way {
  const char* name;
  TransportSettings settings;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

/// Every test runs over shared memory, by MPI, and with several workers on each of several hosts, as it were.
class TeamBufferOver : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { swap(std::make_unique<Communicator>(make_transport(GetParam().settings))); }
  void TearDown() override { swap(std::move(before_)); }

 private:
  void swap(std::unique_ptr<Communicator> next) {
    finish_background();
    before_ = set_world_communicator(std::move(next));
  }

  std::unique_ptr<Communicator> before_;
};

using Transports = TransportSettings::Way;
INSTANTIATE_TEST_SUITE_P(Ways, TeamBufferOver,
                         ::testing::Values(Way{"shared", {Transports::shared}}, Way{"mpi", {Transports::mpi}},
                                           Way{"hosts_of_2", {Transports::automatic, 2}},
                                           Way{"hosts_of_3", {Transports::automatic, 3}},
                                           Way{"hosts_of_4", {Transports::automatic, 4}}),
                         [](const auto& way) { return way.param.name; });

/// Everybody; with `turned`, in another order than the ranks'.
std::vector<int> everybody(bool turned = false) {
  std::vector<int> team(static_cast<std::size_t>(Runtime::size()));
  std::iota(team.begin(), team.end(), 0);
  if (turned) std::rotate(team.begin(), team.begin() + 1, team.end());
  return team;
}

/// Pieces from `first` on; the one of every third place, from `empty` on, is empty, and others differ in
/// size.
PieceOffsets uneven(int members, std::int64_t first, int empty, std::int64_t unit) {
  PieceOffsets begins{first};
  for (int i = 0; i < members; ++i) begins.push_back(begins.back() + (i % 3 == empty ? 0 : unit + 5 * i + 1));
  return begins;
}

std::vector<PieceOffsets> some_pieces(int members) {
  return {uneven(members, 0, 3, 0), uneven(members, 7, 0, 3), uneven(members, 2, 1, 300),
          uneven(members, 5, 2, 40000 / members), PieceOffsets(static_cast<std::size_t>(members) + 1, 4)};
}

std::int64_t size(const PieceOffsets& pieces, int i) {
  return pieces[static_cast<std::size_t>(i) + 1] - pieces[static_cast<std::size_t>(i)];
}

/// What a worker has in its buffer: sums of such numbers depend on their order.
at::Tensor contents(int rank, std::int64_t elements, at::ScalarType type) {
  return at::arange(elements, at::kDouble)
      .add(37 * rank)
      .mul(1.7)
      .sin()
      .mul(rank % 3 == 1 ? 300. : 1.)
      .to(type);
}

/// The sum over the team, by hand.
at::Tensor summed(const std::vector<int>& team, std::int64_t elements, at::ScalarType type) {
  const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor sum = contents(team.front(), elements, type).to(wide);
  for (std::size_t i = 1; i < team.size(); ++i) sum = sum.add(contents(team[i], elements, type).to(wide));
  return sum.to(type);
}

at::Tensor piece(const at::Tensor& whole, const PieceOffsets& pieces, int i) {
  return whole.narrow(0, pieces[static_cast<std::size_t>(i)], size(pieces, i));
}

TeamBuffer filled(const std::vector<int>& team, std::int64_t elements, at::ScalarType type) {
  TeamBuffer buffer(team, elements, type);
  EXPECT_SAME_BITS(buffer.local(), at::zeros({elements}, type));
  buffer.local().copy_(contents(Runtime::rank(), elements, type));
  return buffer;
}

template <typename Check>
void for_each_case(const Check& check) {
  for (const bool turned : {false, true}) {
    const std::vector<int> team = everybody(turned);
    for (const at::ScalarType type : kTypes) {
      for (const PieceOffsets& pieces : some_pieces(Runtime::size())) {
        TeamBuffer buffer = filled(team, pieces.back() + 3, type);
        check(buffer, pieces, type);
      }
    }
  }
}

TEST_P(TeamBufferOver, AllReduceSumsInTheTeamsOrderInPlace) {
  for_each_case([](TeamBuffer& buffer, const PieceOffsets& pieces, at::ScalarType type) {
    const std::int64_t n = buffer.local().numel();
    at::Tensor expected = contents(Runtime::rank(), n, type);
    const auto inside = [&](const at::Tensor& x) {
      return x.narrow(0, pieces.front(), pieces.back() - pieces.front());
    };
    inside(expected).copy_(inside(summed(buffer.team(), n, type)));

    buffer.all_reduce("AllReduce", pieces)->wait();

    EXPECT_SAME_BITS(buffer.local(), expected);
  });
}

TEST_P(TeamBufferOver, ReduceScatterGivesEachItsPiece) {
  for_each_case([](TeamBuffer& buffer, const PieceOffsets& pieces, at::ScalarType type) {
    const std::int64_t n = buffer.local().numel();
    const at::Tensor expected = piece(summed(buffer.team(), n, type), pieces, buffer.position());
    const at::Tensor out = at::full(expected.sizes(), 7, type);

    buffer.reduce_scatter("ReduceScatter", pieces, out)->wait();

    EXPECT_SAME_BITS(out, expected);
    EXPECT_SAME_BITS(buffer.local(), contents(Runtime::rank(), n, type)) << "the buffer is as it was";
  });
}

TEST_P(TeamBufferOver, ReduceScatterAddsAndMayWriteIntoTheBuffer) {
  for_each_case([](TeamBuffer& buffer, const PieceOffsets& pieces, at::ScalarType type) {
    const at::Tensor sum = piece(summed(buffer.team(), buffer.local().numel(), type), pieces, buffer.position());
    const at::Tensor out = contents(5, sum.numel(), type);
    const at::Tensor mine = piece(buffer.local(), pieces, buffer.position());

    const at::Tensor added = out.add(sum);
    buffer.reduce_scatter("ReduceScatter", pieces, out, true)->wait();
    buffer.reduce_scatter("ReduceScatter", pieces, mine)->wait();

    EXPECT_SAME_BITS(out, added);
    EXPECT_SAME_BITS(mine, sum);
  });
}

TEST_P(TeamBufferOver, AllGatherPutsThePiecesTogether) {
  for_each_case([](TeamBuffer& buffer, const PieceOffsets& pieces, at::ScalarType type) {
    const std::int64_t n = buffer.local().numel();
    at::Tensor expected = at::full({n}, 9, type);
    for (int i = 0; i < Runtime::size(); ++i) {
      const int rank = buffer.team()[static_cast<std::size_t>(i)];
      piece(expected, pieces, i).copy_(piece(contents(rank, n, type), pieces, i));
    }
    const at::Tensor out = at::full({n}, 9, type);
    const at::Tensor again = at::full({n}, 9, type);

    buffer.all_gather("AllGather", pieces, TeamBuffer::Contents::whole, out)->wait();
    EXPECT_SAME_BITS(out, expected);

    buffer.local()
        .narrow(0, 0, size(pieces, buffer.position()))
        .copy_(piece(out, pieces, buffer.position()).clone());
    buffer.all_gather("AllGather", pieces, TeamBuffer::Contents::piece, again)->wait();
    EXPECT_SAME_BITS(again, expected);

    buffer.local().fill_(9);
    piece(buffer.local(), pieces, buffer.position()).copy_(piece(out, pieces, buffer.position()));
    buffer.all_gather("AllGather", pieces, TeamBuffer::Contents::whole, buffer.local())->wait();
    EXPECT_SAME_BITS(buffer.local(), expected);
  });
}

/// Of the elements of each place i ≠ this worker's, or of this worker's to each of those.
Traffic to_others(const PieceOffsets& pieces, int place, bool mine, std::int64_t width) {
  Traffic all;
  for (int i = 0; i < Runtime::size(); ++i) {
    const std::int64_t elements = size(pieces, mine ? place : i);
    if (i != place && elements > 0) all += {elements, width * elements, 1};
  }
  return all;
}

TEST_P(TeamBufferOver, CountsWhatGoesWhicheverWay) {
  for (const PieceOffsets& pieces : some_pieces(Runtime::size())) {
    Counters::instance().reset();
    TeamBuffer buffer(everybody(), pieces.back(), at::kDouble);
    const at::Tensor out = at::empty({size(pieces, buffer.position())}, at::kDouble);
    const Traffic scattered = to_others(pieces, buffer.position(), false, 8);
    const Traffic gathered = to_others(pieces, buffer.position(), true, 8);

    EXPECT_EQ(Counters::instance().total(), Traffic{}) << "who makes a buffer introduces itself only";
    buffer.all_reduce({"A", "A of all"}, pieces)->wait();
    EXPECT_EQ(Counters::instance().by_operation()["A"], scattered + gathered);
    buffer.reduce_scatter("B", pieces, out)->wait();
    EXPECT_EQ(Counters::instance().by_operation()["B"], scattered);
    buffer.all_gather("C", pieces, TeamBuffer::Contents::whole, buffer.local())->wait();
    EXPECT_EQ(Counters::instance().by_operation()["C"], gathered);
    EXPECT_EQ(Counters::instance().total(), scattered + scattered + gathered + gathered);
  }
}

TEST_P(TeamBufferOver, AnEvenSumSendsTwiceTheOthersShare) {
  const std::int64_t p = Runtime::size();
  PieceOffsets pieces;
  for (std::int64_t i = 0; i <= p; ++i) pieces.push_back(10 * i);
  TeamBuffer buffer(everybody(), 10 * p, at::kFloat);
  Counters::instance().reset();

  buffer.all_reduce("sum", pieces)->wait();

  EXPECT_EQ(Counters::instance().total(), (Traffic{2 * (p - 1) * 10, 80 * (p - 1), 2 * (p - 1)}));
}

TEST_P(TeamBufferOver, CollectivesGoOnTogetherAndBesideOtherTraffic) {
  const int p = Runtime::size();
  const int next = (Runtime::rank() + 1) % p;
  const int before = (Runtime::rank() + p - 1) % p;
  const PieceOffsets low = uneven(p, 0, 3, 2000);
  const PieceOffsets high = uneven(p, low.back(), 3, 1000);
  TeamBuffer buffer = filled(everybody(), high.back(), at::kFloat);
  TeamBuffer other = filled(everybody(true), high.back(), at::kDouble);
  const at::Tensor out = at::empty({size(high, other.position())}, at::kDouble);
  const at::Tensor ring = at::empty({4});
  const auto round = [&] {
    if (p > 1) Communicator::world().exchange("ring", {{next, at::full({4}, 1.F)}}, {{before, ring}});
  };

  if (Runtime::rank() % 2 == 0) round();  // in another order than the others
  const auto first = buffer.all_reduce("low", low);
  const auto second = other.reduce_scatter("other", high, out);
  const auto third = buffer.all_reduce("high", high);
  if (Runtime::rank() % 2 == 1) round();
  third->wait();
  second->wait();
  first->wait();

  EXPECT_SAME_BITS(buffer.local(), summed(everybody(), high.back(), at::kFloat));
  EXPECT_SAME_BITS(out, piece(summed(everybody(true), high.back(), at::kDouble), high, other.position()));
}

TEST_P(TeamBufferOver, EndsInTheBackgroundThoughNobodyWaits) {
  const PieceOffsets pieces = uneven(Runtime::size(), 0, 3, 50);
  for (int i = 0; i < 20; ++i) {
    TeamBuffer buffer = filled(everybody(), pieces.back(), at::kFloat);
    const at::Tensor local = buffer.local();
    auto move = buffer.all_reduce("sum", pieces);
    move = nullptr;
    {
      const TeamBuffer gone(std::move(buffer));  // the move keeps the memory
    }
    finish_background();
    EXPECT_SAME_BITS(local, summed(everybody(), pieces.back(), at::kFloat));
  }
}

TEST_P(TeamBufferOver, TeamsOfSomeWorkers) {
  const int rank = Runtime::rank();
  const std::vector<int> pair = rank % 2 == 0 && rank + 1 == Runtime::size()
                                    ? std::vector<int>{rank}
                                    : std::vector<int>{rank / 2 * 2 + 1, rank / 2 * 2};
  const PieceOffsets pieces = uneven(static_cast<int>(pair.size()), 1, 3, 9);
  TeamBuffer buffer = filled(pair, pieces.back(), at::kFloat);
  at::Tensor expected = summed(pair, pieces.back(), at::kFloat);
  expected.narrow(0, 0, 1).copy_(buffer.local().narrow(0, 0, 1));

  buffer.all_reduce("sum of two", pieces)->wait();

  EXPECT_SAME_BITS(buffer.local(), expected);
}

TEST_P(TeamBufferOver, EveryWorkerIsToldOfDifferentCollectives) {
  if (Runtime::size() == 1) return;
  const PieceOffsets pieces = uneven(Runtime::size(), 0, 1, 6);
  TeamBuffer buffer = filled(everybody(), pieces.back(), at::kFloat);
  const std::string mine = Runtime::rank() == 0 ? "gather transformer.h.3" : "gather transformer.h.4";
  const std::string theirs = Runtime::rank() == 0 ? "gather transformer.h.4" : "gather transformer.h.3";
  // To the first worker all others differ, and whose message comes first is what it is told of.
  const std::string who = Runtime::rank() == 0 ? "rank " : "rank 0";

  const auto move = buffer.all_gather({"Gather", mine}, pieces, TeamBuffer::Contents::whole, buffer.local());
  EXPECT_ERROR(move->wait(), "[rank " + std::to_string(Runtime::rank()), "in " + mine, who, "in " + theirs);
  EXPECT_ERROR(move->wait(), theirs);
  const at::Tensor before = contents(Runtime::rank(), pieces.back(), at::kFloat);
  for (int i = 0; i < (Runtime::rank() == 0 ? Runtime::size() : 1); ++i) {
    EXPECT_SAME_BITS(piece(buffer.local(), pieces, i), piece(before, pieces, i)) << "nothing was mixed";
  }
  finish_background();
  buffer.local().copy_(before);

  const at::Tensor out = at::empty({size(pieces, buffer.position())});
  const auto begin = [&] {
    return Runtime::rank() == 0 ? buffer.all_reduce({"Sum", "sum of h.3"}, pieces)
                                : buffer.reduce_scatter({"Sum", "scatter of h.4"}, pieces, out);
  };
  EXPECT_ERROR(begin()->wait(), "sum of h.3", "scatter of h.4");

  buffer.all_reduce("sum", pieces)->wait();  // they find together again
  EXPECT_SAME_BITS(buffer.local(), summed(everybody(), pieces.back(), at::kFloat));
}

TEST_P(TeamBufferOver, EveryWorkerIsToldOfDifferentPieces) {
  if (Runtime::size() == 1) return;
  PieceOffsets pieces = uneven(Runtime::size(), 0, 3, 6);
  TeamBuffer buffer = filled(everybody(), pieces.back() + 1, at::kFloat);
  if (Runtime::rank() == 0) ++pieces.back();

  EXPECT_ERROR(buffer.all_reduce("sum", pieces)->wait(), "the workers' programs differ",
               "in sum (all_reduce of " + std::to_string(pieces.back()) + " elements)");
}

/// Else they would take elements from where others have none.
TEST_P(TeamBufferOver, EveryWorkerIsToldOfPiecesThatLieElsewhere) {
  if (Runtime::size() == 1) return;
  const PieceOffsets pieces = uneven(Runtime::size(), 0, 3, 6);
  TeamBuffer buffer = filled(everybody(), pieces.back() + 1, at::kFloat);
  const at::Tensor out = at::empty({pieces.back()});
  const auto gather = [&](TeamBuffer::Contents holds, std::int64_t from) {
    return buffer.all_gather("all", pieces, holds, out, from);
  };
  const bool first = Runtime::rank() == 0;

  EXPECT_ERROR(gather(first ? TeamBuffer::Contents::whole : TeamBuffer::Contents::piece, 0)->wait(),
               "the workers' programs differ", "elements from pieces at element 0)");
  EXPECT_ERROR(gather(TeamBuffer::Contents::piece, first ? 1 : 0)->wait(), "from pieces at element 1)",
               "from pieces at element 0)");
  EXPECT_NO_THROW(gather(TeamBuffer::Contents::piece, 1)->wait());
}

TEST(TeamBuffer, RunsInASimulation) {
  const Simulation job(1, 4);
  TeamBuffer buffer({0, 1, 3}, 30, at::kFloat);
  buffer.local().fill_(2);
  Counters::instance().reset();

  buffer.all_reduce("sum", {0, 10, 15, 30})->wait();

  EXPECT_EQ(Counters::instance().total(), (Traffic{10 + 15 + 5 + 5, 140, 4}));
  EXPECT_EQ(buffer.local().narrow(0, 10, 5).sum().item<float>(), 10) << "zeros come from the others";
}

TEST(TeamBuffer, RefusesWhatIsWrong) {
  const int rank = Runtime::rank();
  EXPECT_ERROR(TeamBuffer({rank, rank}, 3, at::kFloat), "has a rank twice");
  EXPECT_ERROR(TeamBuffer({}, 3, at::kFloat), "the team []; it needs ranks from 0 to");
  EXPECT_ERROR(TeamBuffer({rank, 99}, 3, at::kFloat), ", 99]; it needs ranks from 0 to");
  EXPECT_ERROR(TeamBuffer({rank}, -3, at::kFloat), "-3 elements");
  if (rank > 0) {
    EXPECT_ERROR(TeamBuffer({0}, 3, at::kFloat), "this worker is not of the team [0]");
  }

  TeamBuffer buffer({rank}, 8, at::kFloat);
  const auto holds = TeamBuffer::Contents::whole;
  EXPECT_ERROR(buffer.all_reduce("sum", {0}), "sum: pieces that begin at [0] for a team of 1");
  EXPECT_ERROR(buffer.all_reduce("sum", {3, 2}), "pieces that begin at [3, 2]", "ascending");
  EXPECT_ERROR(buffer.all_reduce("sum", {-1, 2}), "ascending from zero or more");
  EXPECT_ERROR(buffer.all_reduce("sum", {0, 9}), "9 elements of a buffer of 8");
  EXPECT_ERROR(buffer.reduce_scatter("sum", {0, 4}, at::empty({3})),
               "3 elements where this worker's piece has 4");
  EXPECT_ERROR(buffer.reduce_scatter("sum", {0, 4}, at::empty({4}, at::kDouble)), "out has Double on cpu",
               "the buffer Float");
  EXPECT_ERROR(buffer.reduce_scatter("sum", {0, 4}, at::empty({2, 2})), "not a 1-D contiguous tensor");
  EXPECT_ERROR(buffer.reduce_scatter("sum", {0, 4}, buffer.local().narrow(0, 1, 4)),
               "out lies in the buffer");
  EXPECT_ERROR(buffer.all_gather("all", {0, 4}, holds, at::empty({3})), "3 elements where the pieces have 4");
  EXPECT_ERROR(buffer.all_gather("all", {0, 4}, holds, buffer.local().narrow(0, 2, 4)),
               "out lies in the buffer");
  EXPECT_ERROR(buffer.all_gather("all", {0, 8}, TeamBuffer::Contents::piece, buffer.local()),
               "out lies in the buffer");
}

}  // namespace
}  // namespace riesz
