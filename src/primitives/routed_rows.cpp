// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/routed_rows.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <memory>
#include <numeric>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/simulation.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/fibre.h"
#include "riesz/primitives/plan/rounds.h"
#include "riesz/primitives/primitive.h"

namespace riesz {
namespace {

using Counts = std::vector<std::int64_t>;

std::int64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// The rows that this worker and one of the axis have for each other, in the order of their message.
struct Exchanged {
  int peer;                    // world rank
  std::vector<Interval> in_x;  // rows of this worker's x for the other's blocks, by block
  std::vector<Interval> in_y;  // rows of the other for this worker's blocks, by block
};

/// Which rows go where, by worker of the axis.
struct Routing {
  std::vector<Exchanged> exchanged;
  std::size_t me;
  std::uint64_t digest;
};

/// Calls f(block) of each block that a worker holds, in its order.
template <typename Function>
void each_held(const Split& blocks, std::size_t worker, const Function& f) {
  for (const Interval& interval : blocks.held(static_cast<int>(worker))) {
    for (std::int64_t block = interval.begin; block < interval.end; ++block)
      f(static_cast<std::size_t>(block));
  }
}

Routing routing_of(const Fibre& fibre, const Split& blocks, const RowCounts& counts) {
  Routing routing{{}, fibre.me, 0};
  DigestBuilder digest;
  const Counts& mine = counts[fibre.me];
  Counts begins(mine.size());
  std::exclusive_scan(mine.begin(), mine.end(), begins.begin(), std::int64_t{0});
  for (const std::int64_t count : mine) digest.mix(static_cast<std::uint64_t>(count));
  for (std::size_t i = 0; i < fibre.peers.size(); ++i) {
    routing.exchanged.push_back({fibre.peers[i], {}, {}});
    each_held(blocks, i, [&](std::size_t block) {
      routing.exchanged.back().in_x.push_back({begins[block], begins[block] + mine[block]});
    });
  }
  std::int64_t begin = 0;
  each_held(blocks, fibre.me, [&](std::size_t block) {
    for (std::size_t i = 0; i < fibre.peers.size(); ++i) {
      routing.exchanged[i].in_y.push_back({begin, begin + counts[i][block]});
      begin = routing.exchanged[i].in_y.back().end;
      digest.mix(static_cast<std::uint64_t>(begin));
    }
  });
  routing.digest = digest.value();
  return routing;
}

/// These rows of a tensor of that shape.
std::vector<Box> boxes_of(const std::vector<Interval>& rows, const std::vector<std::int64_t>& shape) {
  std::vector<Box> boxes;
  for (const Interval& interval : rows) {
    if (interval.size() == 0) continue;
    if (!boxes.empty() && boxes.back().front().end == interval.begin) {
      boxes.back().front().end = interval.end;
      continue;
    }
    boxes.push_back({interval});
    for (std::size_t dim = 1; dim < shape.size(); ++dim) boxes.back().push_back({0, shape[dim]});
  }
  return boxes;
}

class RouteRows final : public Primitive {
 public:
  RouteRows(const Space& X, const Space& Y, int axis, std::shared_ptr<const Routing> routing, bool back)
      : Primitive("RouteRows", X, Y, {axis},
                  "(" + std::to_string(routing->digest) + (back ? ", back)" : ")")),
        routing_(std::move(routing)),
        back_(back),
        rounds_(domain().partition().active() ? made() : Rounds{}) {}

  at::Tensor apply(const at::Tensor& x) const override { return execute(operation(), rounds_, x); }
  const Rounds* rounds() const override { return &rounds_; }

  Step adjoint() const override {
    return std::make_shared<RouteRows>(dual(range()), dual(domain()), axes().front(), routing_, !back_);
  }

  Traffic traffic(int rank) const override {
    RIESZ_CHECK(rank == domain().partition().rank(), "RouteRows: what leaves rank ", rank,
                " is known there alone, for it counts its own rows; ask for rank ",
                domain().partition().rank());
    return rounds_.traffic();
  }

  bool sends() const override { return domain().partition().axis(axes().front()).extent > 1; }

 private:
  Rounds made() const {
    Rounds rounds;
    rounds.y_shape = range().local_shape();
    std::vector<int> team;
    for (const Exchanged& with : routing_->exchanged) team.push_back(with.peer);
    rounds.team = std::make_shared<const std::vector<int>>(std::move(team));
    Round round;
    round.fills = true;
    for (std::size_t i = 0; i < routing_->exchanged.size(); ++i) {
      const Exchanged& with = routing_->exchanged[i];
      const std::vector<Box> out = boxes_of(back_ ? with.in_y : with.in_x, domain().local_shape());
      const std::vector<Box> in = boxes_of(back_ ? with.in_x : with.in_y, range().local_shape());
      Parts sent = Parts::out_of(domain().local_shape(), out);
      Parts received = Parts::into(range().local_shape(), in);
      if (i == routing_->me) {
        keep(round, with);
      } else {
        if (sent.elements > 0) round.sends.push_back({with.peer, std::move(sent)});
        if (received.elements > 0) round.receives.push_back({with.peer, std::move(received)});
      }
    }
    rounds.add(std::move(round));
    return rounds;
  }

  /// The rows of this worker's own blocks: by block, for they lie otherwise in x and in y.
  void keep(Round& round, const Exchanged& own) const {
    Parts there{{}, {}, 0};
    for (std::size_t block = 0; block < own.in_x.size(); ++block) {
      const std::vector<Box> from =
          boxes_of({back_ ? own.in_y[block] : own.in_x[block]}, domain().local_shape());
      if (from.empty()) continue;
      const std::vector<Box> to =
          boxes_of({back_ ? own.in_x[block] : own.in_y[block]}, range().local_shape());
      round.stays.boxes.push_back(from.front());
      round.stays.copies.push_back(
          box_copy(domain().local_shape(), from.front(), range().local_shape(), to.front()));
      round.stays.elements += volume(from.front());
      there.boxes.push_back(to.front());
    }
    if (round.stays.elements == 0) return;
    there.elements = round.stays.elements;
    round.stays_at = round.receives.size();
    round.receives.push_back({own.peer, std::move(there)});
  }

  std::shared_ptr<const Routing> routing_;
  bool back_;
  Rounds rounds_;
};

void check_rows(const Space& X, const std::string& axis, const Split& blocks) {
  const int a = X.partition().index(axis);
  RIESZ_CHECK(X.dims() > 0 && X.concrete() && X.shards(0).size() == 1 && X.dim_of(a) == 0 &&
                  !X.shards(0).front().overlaps(),
              "route_rows needs rows sharded on dim 0 by axis ", axis, " alone, without overlap, not\n  ",
              to_string(X), "\nwhere another axis shards them too, route on the fibre: partition.along(\"",
              axis, "\")");
  RIESZ_CHECK(blocks.workers() == X.partition().extent(axis) && !blocks.overlaps(),
              "route_rows: the blocks are split over ", blocks.workers(), " workers and axis ", axis, " has ",
              X.partition().extent(axis), "; each block has one of these");
}

void check_counts(const Counts& counts, const Split& blocks, std::int64_t rows, const char* whose) {
  RIESZ_CHECK(static_cast<std::int64_t>(counts.size()) == blocks.extent(), "route_rows: ", counts.size(),
              " counts for ", blocks.extent(), " blocks; give one for each, 0 where it gets no row");
  for (const std::int64_t count : counts)
    RIESZ_CHECK(count >= 0, "route_rows: a count of ", count, " rows; it must be 0 or more");
  RIESZ_CHECK(sum(counts) == rows, "route_rows: the counts are of ", sum(counts), " rows and ", whose,
              " worker has ", rows, "; each row goes to one block");
}

/// The rows of X that the worker at this coordinate of the axis holds.
std::int64_t rows_of(const Space& X, int axis, int coordinate) {
  std::vector<int> there = X.partition().coordinates(X.partition().rank());
  there[static_cast<std::size_t>(axis)] = coordinate;
  return total(X.held(0, there));
}

void check_all(const Space& X, const std::string& axis, const Split& blocks, const RowCounts& counts) {
  check_rows(X, axis, blocks);
  RIESZ_CHECK(static_cast<int>(counts.size()) == blocks.workers(), "route_rows: counts of ", counts.size(),
              " workers, and axis ", axis, " has ", blocks.workers(),
              "; give those of each (all_row_counts)");
  const int a = X.partition().index(axis);
  const int me = X.partition().coordinate(X.partition().rank(), a);
  for (int worker = 0; worker < blocks.workers(); ++worker) {
    if (worker != me && Simulation::running()) continue;  // theirs are made up
    check_counts(counts[static_cast<std::size_t>(worker)], blocks, rows_of(X, a, worker),
                 worker == me ? "this" : "another");
  }
}

}  // namespace

RowCounts all_row_counts(const Partition& partition, const std::vector<std::string>& axes,
                         const Counts& counts) {
  for (const std::int64_t count : counts)
    RIESZ_CHECK(count >= 0, "all_row_counts: a count of ", count, " rows; it must be 0 or more");
  if (!partition.active()) return {};
  const Fibre fibre = Fibre::through_here("RowCounts", partition, axes);
  const at::Tensor mine = at::tensor(counts, at::kLong);
  std::vector<at::Tensor> received(fibre.peers.size());
  for (at::Tensor& theirs : received) theirs = at::zeros_like(mine);
  fibre.exchange(fibre.operation("RowCounts", mine.sizes()),
                 std::vector<at::Tensor>(fibre.peers.size(), mine), received);
  RowCounts all;
  for (std::size_t i = 0; i < received.size(); ++i)
    all.push_back(i == fibre.me || Simulation::running() ? counts
                                                         : host_values<std::int64_t>(received[i], 0));
  return all;
}

RoutedRows route_known_rows(const Space& X, const std::string& axis, const Split& blocks,
                            const RowCounts& counts) {
  if (!X.partition().active()) return {Operator::identity(X), {}};
  check_all(X, axis, blocks, counts);
  const Fibre fibre = Fibre::through_here("RouteRows", X.partition(), {axis});
  Counts pieces;  // rows of y, by worker
  Counts rows;
  for (std::size_t worker = 0; worker < fibre.peers.size(); ++worker) {
    pieces.push_back(0);
    each_held(blocks, worker, [&](std::size_t block) {
      std::int64_t of_block = 0;
      for (const Counts& theirs : counts) of_block += theirs[block];
      pieces.back() += of_block;
      if (worker == fibre.me) rows.push_back(of_block);
    });
  }
  std::vector<std::int64_t> shape = X.shape();
  shape.front() = sum(pieces);
  const Space Y = X.replicated(axis).with_shape(shape).sharded(0, axis, Split::sizes(pieces));
  auto routing = std::make_shared<const Routing>(routing_of(fibre, blocks, counts));
  const int a = X.partition().index(axis);
  return {Operator(X, Y, {std::make_shared<RouteRows>(X, Y, a, std::move(routing), false)}), rows};
}

RoutedRows route_rows(const Space& X, const std::string& axis, const Split& blocks, const Counts& counts) {
  if (!X.partition().active()) return {Operator::identity(X), {}};
  check_rows(X, axis, blocks);
  check_counts(counts, blocks, X.local_shape().front(), "this");
  return route_known_rows(X, axis, blocks, all_row_counts(X.partition(), {axis}, counts));
}

}  // namespace riesz
