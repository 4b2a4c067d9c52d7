// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What regions that run again keep until backward, to the byte, and what they send, to the element.
#include <map>

#include "recompute_program.h"
#include "riesz/comm/counters.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

constexpr int kRegions = 4;
constexpr std::int64_t kDouble = 8;

template <typename Way>
Vector rows_of_regions(Net& net, const Way& way) {
  Vector y = net.x;
  for (int i = 0; i < kRegions; ++i) y = way(net.a_(), y);
  return y;
}

void go_back(const Vector& y) { backward(y, distribute(dual(y.space()), draws(y.space().shape(), 4))); }

/// The bytes that are alive after forward, the result among them, and the most at once in backward.
template <typename Way>
std::pair<std::int64_t, std::int64_t> bytes_of(Net& net, const Way& way) {
  const ContextScope context(context_of(0));
  std::pair<std::int64_t, std::int64_t> bytes;
  for (int time = 0; time < 2; ++time) {  // the second has all gradients and caches already
    const MemoryMeter meter;
    Chain chain;
    const Vector y = rows_of_regions(net, way);
    bytes.first = MemoryMeter::alive();
    MemoryMeter::restart();
    go_back(y);
    bytes.second = MemoryMeter::peak();
  }
  return bytes;
}

/// Of the n − 1 regions whose inputs did not live before, and the result: n local parts of X; or, where
/// inputs are kept in pieces over tp, all n pieces and the result.
TEST(RecomputeCost, KeptAreTheInputsAlone) {
  for (const Partition& mesh : meshes()) {
    for (const bool by_rows : {false, true}) {
      Net net(mesh, by_rows);
      const std::int64_t of_x = kDouble * net.x.local().numel();
      const std::int64_t tp = mesh.axis(1).extent;
      const auto plain = bytes_of(net, Plainly()), again = bytes_of(net, Again());
      EXPECT_EQ(again.first, kRegions * of_x) << to_string(mesh);
      EXPECT_TRUE(again.first < plain.first || of_x == 0);
      EXPECT_TRUE(again.second < plain.second || of_x == 0);
      if (by_rows || tp == 1) continue;
      const Space pieces = net.X.sharded(0, "tp");
      std::int64_t of_piece = kDouble;
      for (const std::int64_t n : pieces.local_shape()) of_piece *= n;
      EXPECT_EQ(bytes_of(net, Again{{.pieces_over = {"tp"}}}).first, kRegions * of_piece + of_x);
    }
  }
}

/// Backward in the midst of a region has what is before it, as ever: what it passed is gone.
TEST(RecomputeCost, WhatBackwardHasPassedIsGone) {
  Net net(meshes().front());
  const ContextScope context(context_of(0));
  const auto alive_amid = [&](const auto& way) {
    std::int64_t alive = 0;
    const auto both = [&](const Vector& x) {
      const Vector amid = net.a(x);
      Chain::current()->on_backward([&] { alive = MemoryMeter::alive(); });
      return net.b(amid);
    };
    for (int time = 0; time < 2; ++time) {
      const MemoryMeter meter;
      Chain chain;
      go_back(way(both, net.x));
    }
    return alive;
  };
  EXPECT_EQ(alive_amid(Again()), alive_amid(Plainly()));
}

using Sums = std::map<Phase, Traffic>;

template <typename Way>
Sums sent_by(Net& net, const Way& way) {
  const ContextScope context(context_of(0));
  Counters::instance().reset();
  Counters::instance().record(true);
  Chain chain;
  go_back(rows_of_regions(net, way));
  Sums sums;
  for (const TrafficRecord& record : Counters::instance().records()) {
    EXPECT_TRUE(record.origin.layer.starts_with("a.") || record.origin.phase == Phase::recompute);
    sums[record.origin.phase] += record.traffic;
  }
  Counters::instance().record(false);
  return sums;
}

/// Forward's messages once more, by the layers that sent them; and of inputs kept in pieces a gather each.
TEST(RecomputeCost, SentIsForwardOnceMore) {
  for (const Partition& mesh : meshes()) {
    for (const bool by_rows : {false, true}) {
      Net net(mesh, by_rows);
      Sums plain = sent_by(net, Plainly()), again = sent_by(net, Again());
      EXPECT_EQ(again[Phase::forward], plain[Phase::forward]) << to_string(mesh);
      EXPECT_EQ(again[Phase::recompute], plain[Phase::forward]);
      EXPECT_EQ(again[Phase::backward], plain[Phase::backward]);
      const std::int64_t tp = mesh.axis(1).extent;
      if (by_rows || tp == 1) continue;
      std::int64_t of_piece = 1;
      for (const std::int64_t n : net.X.sharded(0, "tp").local_shape()) of_piece *= n;
      Sums pieces = sent_by(net, Again{{.pieces_over = {"tp"}}});
      const std::int64_t elements = kRegions * (tp - 1) * of_piece;
      const std::int64_t messages = of_piece > 0 ? kRegions * (tp - 1) : 0;
      EXPECT_EQ(pieces[Phase::recompute],
                again[Phase::recompute] + (Traffic{elements, kDouble * elements, messages}));
      EXPECT_EQ(pieces[Phase::backward], plain[Phase::backward]);
    }
  }
}

/// Contractions of one vector share its gather, where all of them are inside or all outside.
TEST(RecomputeCost, WhatIsGatheredIsNotSharedWithARegion) {
  const int p = Partition::world().size();
  Net net(Partition::world().grid({{"dp", 1}, {"tp", p}}), true);
  const std::int64_t gather = (p - 1) * net.x.local().numel();
  Counters::instance().reset();
  Counters::instance().record(true);
  {
    Chain chain;
    const auto both = [&](const Vector& x) { return net.a.up(x) + net.b.up(x); };
    const Vector outside = both(net.x), inside = recompute(both, net.x);
    go_back(outside + inside);
  }
  Sums sums;
  for (const TrafficRecord& record : Counters::instance().records())
    sums[record.origin.phase] += record.traffic;
  Counters::instance().record(false);
  EXPECT_EQ(sums[Phase::forward].elements, 2 * gather);
  EXPECT_EQ(sums[Phase::recompute].elements, gather);
}

}  // namespace
}  // namespace riesz::testing
