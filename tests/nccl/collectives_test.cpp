// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// NCCL's own all-reduce, all-gather and reduce-scatter in place of rounds: values, traffic, and where there
// are none.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "on_nccl.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/pending.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

using Calls = std::map<std::string, int>;

class Collectives : public OnNccl {
 protected:
  Collectives() { set({.compare = true, .collectives = true}); }

  /// What `f` calls.
  template <typename Function>
  Calls calls_in(const Function& f) {
    const std::vector<const char*> all{"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend"};
    Calls before, calls;
    for (const char* each : all) before[each] = in_.calls(each);
    f();
    for (const char* each : all)
      if (in_.calls(each) > before[each]) calls[each] = in_.calls(each) - before[each];
    return calls;
  }

  /// Calls of A, which has whole numbers; its values and traffic are the CPU's.
  Calls of(const Operator& A, at::ScalarType type = at::kDouble) {
    SCOPED_TRACE(to_string(A));
    const at::NoGradGuard no_gradient;
    const at::Tensor local = random_vector(A.domain(), 1, true).local().mul(9).round().to(type);
    Counters::instance().reset();
    const Vector here = A(Vector(A.domain(), local));
    const Traffic sent = Counters::instance().total();
    const Vector x(A.domain(), local.to(pretend_device()));
    Counters::instance().reset();
    at::Tensor there;
    const Calls calls = calls_in([&] { there = A(x).local().cpu(); });
    EXPECT_SAME_BITS(there, here.local());
    EXPECT_EQ(Counters::instance().total(), sent);
    EXPECT_SAME_BITS(A.start(x).wait().local().cpu(), here.local());
    return calls;
  }

  const int n = Runtime::size(), me = Runtime::rank();
  const Partition row = Partition::world().grid({{"a", n}});
};

TEST_F(Collectives, OfOperatorsThatTheyFit) {
  if (n == 1) return;
  const Space X(row, {5, 2 * n, 3}), S = X.partial("a"), C = X.copied("a");
  EXPECT_EQ(of(between(S, C)), (Calls{{"ncclAllReduce", 1}}));
  for (const at::ScalarType type : {at::kFloat, at::kLong, at::kComplexDouble, at::kHalf, at::kBFloat16})
    EXPECT_EQ(of(between(S, C), type), (Calls{{"ncclAllReduce", 1}})) << type;
  const Space rows(row, {2 * n, 3});
  const Operator gather = between(rows.sharded(0, "a"), rows.copied("a"));
  EXPECT_EQ(of(gather), (Calls{{"ncclAllGather", 1}}));
  EXPECT_EQ(of(adjoint(gather)), (Calls{{"ncclReduceScatter", 1}}));
}

TEST_F(Collectives, AreRoundsWhereTheyDoNotFit) {
  if (n == 1) return;
  const Space columns(row, {5, 2 * n}), uneven(row, {2 * n + 1, 3});
  const Space halves = Space(row, {2 * n}).sharded(0, "a", Split::zigzag(2 * n, n));
  for (const Operator& A : {between(columns.sharded(1, "a"), columns.copied("a")),
                            between(uneven.sharded(0, "a"), uneven.copied("a")),
                            between(halves, Space(row, {2 * n}).copied("a"))}) {
    EXPECT_EQ(of(A), (Calls{{"ncclSend", n - 1}}));
    EXPECT_EQ(of(adjoint(A)), (Calls{{"ncclSend", n - 1}}));
  }
  std::vector<int> turned(static_cast<std::size_t>(n));
  std::iota(turned.rbegin(), turned.rend(), 0);
  const Space other(Partition::world().subset(turned).grid({{"a", n}}), {2 * n, 3});
  EXPECT_EQ(of(between(other.sharded(0, "a"), other.copied("a"))), (Calls{{"ncclSend", n - 1}}));
  EXPECT_EQ(of(between(other.partial("a"), other.copied("a"))), (Calls{{"ncclAllReduce", 1}}));
}

/// Without being asked for, none is made.
TEST_F(Collectives, AreRoundsByDefault) {
  if (n == 1) return;
  set({.compare = true});
  const Space rows(row, {2 * n, 3});
  EXPECT_EQ(of(between(rows.sharded(0, "a"), rows.copied("a"))), (Calls{{"ncclSend", n - 1}}));
}

/// A buffer of this worker's numbers, on both devices, and what a collective of the two gives.
class OfBuffers : public Collectives {
 protected:
  struct Result {
    at::Tensor buffer, out;
    Traffic sent;
  };
  template <typename Begin>
  Result on(at::Device device, std::int64_t elements, std::int64_t out_elements, const Begin& begin) {
    std::vector<int> team(static_cast<std::size_t>(n));
    std::iota(team.begin(), team.end(), 0);
    TeamBuffer buffer(team, elements, at::kDouble, device);
    buffer.local().copy_(at::arange(elements, at::kDouble).add(100 * me).to(device));
    const at::Tensor out = at::full({out_elements}, 7., buffer.local().options());
    Counters::instance().reset();
    begin(buffer, out)->wait();
    return {buffer.local().cpu(), out.cpu(), Counters::instance().total()};
  }
  template <typename Begin>
  Calls calls_of(std::int64_t elements, std::int64_t out_elements, const Begin& begin) {
    const Result here = on(at::kCPU, elements, out_elements, begin);
    return calls_in([&] {
      const Result there = on(pretend_device(), elements, out_elements, begin);
      EXPECT_SAME_BITS(there.buffer, here.buffer);
      EXPECT_SAME_BITS(there.out, here.out);
      EXPECT_EQ(there.sent.elements, here.sent.elements);
      EXPECT_EQ(there.sent.bytes, here.sent.bytes);
    });
  }
  PieceOffsets pieces(std::int64_t first, std::int64_t size, std::int64_t more = 0) const {
    PieceOffsets all;
    for (int i = 0; i <= n; ++i) all.push_back(first + size * i + (i == n ? more : 0));
    return all;
  }
};

TEST_F(OfBuffers, AddGatherAndScatter) {
  if (n == 1) return;
  const auto contents = TeamBuffer::Contents::whole;
  EXPECT_EQ(calls_of(5 * n + 4, 1,
                     [&](TeamBuffer& b, const at::Tensor&) { return b.all_reduce("sum", pieces(2, 5, 1)); }),
            (Calls{{"ncclAllReduce", 1}}));
  for (const bool add : {false, true})
    EXPECT_EQ(calls_of(5 * n + 2, 5,
                       [&](TeamBuffer& b, const at::Tensor& out) {
                         return b.reduce_scatter("scatter", pieces(2, 5), out, add);
                       }),
              (Calls{{"ncclReduceScatter", 1}}));
  EXPECT_EQ(calls_of(5 * n + 2, 1,
                     [&](TeamBuffer& b, const at::Tensor&) {
                       return b.reduce_scatter("scatter", pieces(2, 5), b.local().narrow(0, 2 + 5 * me, 5));
                     }),
            (Calls{{"ncclReduceScatter", 1}}));
  for (const bool inside : {false, true})
    EXPECT_EQ(calls_of(5 * n + 2, 5 * n + 2,
                       [&](TeamBuffer& b, const at::Tensor& out) {
                         return b.all_gather("gather", pieces(2, 5), contents, inside ? b.local() : out);
                       }),
              (Calls{{"ncclAllGather", 1}}));
  EXPECT_EQ(calls_of(9, 5 * n,
                     [&](TeamBuffer& b, const at::Tensor& out) {
                       return b.all_gather("gather", pieces(0, 5), TeamBuffer::Contents::piece, out, 3);
                     }),
            (Calls{{"ncclAllGather", 1}}));
  EXPECT_EQ(calls_of(5 * n + 3, 5 * n + 3,
                     [&](TeamBuffer& b, const at::Tensor& out) {
                       return b.all_gather("gather", pieces(2, 5, 1), contents, out);
                     }),
            (Calls{{"ncclSend", n - 1}}));
}

TEST_F(Collectives, AreAskedForByTheEnvironment) {
  EXPECT_FALSE(NcclSettings::of_environment().collectives);
  setenv("RIESZ_NCCL_COLLECTIVES", "library", 1);
  EXPECT_TRUE(NcclSettings::of_environment().collectives);
  setenv("RIESZ_NCCL_COLLECTIVES", "rounds", 1);
  EXPECT_FALSE(NcclSettings::of_environment().collectives);
  setenv("RIESZ_NCCL_COLLECTIVES", "ring", 1);
  EXPECT_ERROR(NcclSettings::of_environment(), "RIESZ_NCCL_COLLECTIVES is \"ring\"; it must be rounds",
               "or library");
  unsetenv("RIESZ_NCCL_COLLECTIVES");
}

/// What the messages of the first round would be is compared.
TEST_F(OfBuffers, AreCompared) {
  if (n == 1) return;
  const auto sum = [&](TeamBuffer& b, const at::Tensor&) {
    return b.all_reduce(concat("sum ", me), pieces(0, 5));
  };
  EXPECT_ERROR(on(pretend_device(), 5 * n, 1, sum), "the workers' programs differ", concat(" in sum ", me));
}

}  // namespace
}  // namespace riesz::testing
