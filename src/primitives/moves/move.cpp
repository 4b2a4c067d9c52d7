// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/moves/move.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/partition/intervals/local_boxes.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/moves/ends.h"
#include "riesz/primitives/plan/box_rounds.h"
#include "riesz/primitives/plan/fibre_rounds.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz::primitives {
namespace {

/// The engine of a move: the way in which it makes y of x. `alias` is x itself. `slice`, `pad` and `term`
/// send nothing: each worker makes its y of its own x. `boxes` exchanges boxes, and `sum` sums on every
/// fibre.
enum class Engine { alias, slice, pad, term, boxes, sum };

/// A move record: one line of the table of named moves.
struct MoveRecord {
  std::string_view name;
  Placements from;  ///< how the axes that move are placed in X
  Placements to;    ///< and in Y
  std::string_view adjoint;
  Engine engine;
};

constexpr Placements S{Placement::Sharded};
constexpr Placements R{Placement::Replicated};
constexpr Placements C{Placement::Copied};
constexpr Placements P{Placement::Partial};
constexpr Placements any{Placement::Sharded, Placement::Replicated, Placement::Copied, Placement::Partial};

constexpr MoveRecord kMoves[] = {
    {"Copy", R, C, "AllReduce", Engine::alias},
    {"AllReduce", P, R, "Copy", Engine::sum},
    {"AllReduce", P, C, "AllReduce", Engine::sum},
    {"AllGather", S, R, "Slice", Engine::boxes},
    {"AllGather", S, C, "ReduceScatter", Engine::boxes},
    {"ReduceScatter", P, S, "AllGather", Engine::boxes},
    {"Slice", R, S, "AllGather", Engine::slice},
    {"Slice", C, S, "Pad", Engine::slice},
    {"Pad", S, P, "Slice", Engine::pad},
    {"Agree", C, R, "Term", Engine::alias},
    {"Term", R, P, "Agree", Engine::term},
    {"Term", C, P, "Term", Engine::term},
    {"AllToAll", S, S, "AllToAll", Engine::boxes},
    {"Shift", S, S, "Shift", Engine::boxes},
    {"Halo", S, S, "HaloSum", Engine::boxes},
    {"HaloSum", S, S, "Halo", Engine::boxes},
    {"Repartition", any, any, "Repartition", Engine::boxes},
    // Between two partitions.
    {"Scatter", any, any, "Gather", Engine::boxes},
    {"Gather", any, any, "Scatter", Engine::boxes},
    {"SendRecv", any, any, "SendRecv", Engine::boxes},
    {"Broadcast", any, any, "SumReduce", Engine::boxes},
    {"SumReduce", any, any, "Broadcast", Engine::boxes},
};

/// Workers that are only simulated are on one host.
const Hosts& hosts_of(const Partition& P, const Partition& Q) {
  static const Hosts one;
  return P.real() && Q.real() ? Communicator::world().hosts() : one;
}

class Move final : public Primitive {
 public:
  Move(const MoveRecord& record, const Space& X, const Space& Y, const std::vector<int>& axes)
      : Primitive(std::string(record.name), X, Y, axes), record_(record), sends_(may_send()) {}

  at::Tensor apply(const at::Tensor& x) const override {
    switch (record_.engine) {
      case Engine::alias:
        return x;
      case Engine::slice:
        return take_boxes(x, domain(), range());
      case Engine::pad:
        return put_boxes(x, domain(), range());
      case Engine::term:
        return is_first() ? x : at::zeros_like(x);
      case Engine::boxes:
      case Engine::sum:
        return execute(operation(), *rounds(), x);
    }
    return x;
  }

  const Rounds* rounds() const override {
    if (!has_rounds()) return nullptr;
    if (!is_planned_.load(std::memory_order_acquire)) plan();
    return &rounds_;
  }

  Step adjoint() const override;

  Traffic traffic(int rank) const override {
    if (!has_rounds()) return {};
    const Partition& partition = domain().partition();
    return rank == partition.rank() ? rounds()->traffic() : rounds_of(partition.world_rank(rank)).traffic();
  }

  bool sends() const override { return sends_; }

 private:
  void plan() const {
    std::call_once(planned_, [this] {
      rounds_ = rounds_of(this_worker());
      is_planned_.store(true, std::memory_order_release);
    });
  }

  bool has_rounds() const { return record_.engine == Engine::boxes || record_.engine == Engine::sum; }

  /// Between any workers at all, whatever the sizes.
  bool may_send() const {
    if (!has_rounds()) return false;
    return domain().partition() != range().partition() ||
           std::any_of(axes().begin(), axes().end(),
                       [&](int a) { return domain().partition().axis(a).extent > 1; });
  }

  bool is_first() const {
    const Partition& partition = domain().partition();
    return std::all_of(axes().begin(), axes().end(),
                       [&](int a) { return partition.coordinate(partition.rank(), a) == 0; });
  }

  /// The fibre through a worker, all of which make the move together.
  CallTeam team_of(const Partition& partition, int rank) const {
    std::vector<int> team;
    for (const int each : partition.fibre(rank, axes())) team.push_back(partition.world_rank(each));
    return std::make_shared<const std::vector<int>>(std::move(team));
  }

  int this_worker() const {
    for (const Partition& partition : {domain().partition(), range().partition()}) {
      if (partition.active()) return partition.world_rank(partition.rank());
    }
    return -1;
  }

  Rounds rounds_of(int worker) const {
    const Hosts& hosts = hosts_of(domain().partition(), range().partition());
    const Partition& partition = domain().partition();
    const int rank = partition.rank_in(worker);
    if (record_.engine == Engine::boxes) {
      Rounds rounds = box_rounds(domain(), range(), axes(), worker, hosts);
      if (!rounds.detached && rank >= 0) rounds.team = team_of(partition, rank);
      return rounds;
    }
    if (rank < 0) return {};
    return fibre_rounds(partition, axes(), rank, volume(domain().boxes(rank)), Round::Combination::sum,
                        hosts);
  }

  const MoveRecord& record_;
  bool sends_;
  mutable std::once_flag planned_;
  mutable std::atomic<bool> is_planned_ = false;
  mutable Rounds rounds_;
};

bool fits(const MoveRecord& record, const Space& X, const Space& Y, const std::vector<int>& axes) {
  if (X.partition() != Y.partition()) return true;
  return std::all_of(axes.begin(), axes.end(),
                     [&](int a) { return record.from.has(X.placement(a)) && record.to.has(Y.placement(a)); });
}

/// The spaces are known to be ends of such a move on each axis, if not on all alike.
Step made(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes) {
  const auto found = std::find_if(std::begin(kMoves), std::end(kMoves), [&](const MoveRecord& record) {
    return record.name == name && fits(record, X, Y, axes);
  });
  RIESZ_CHECK(found != std::end(kMoves), name,
              " moves axes that are placed alike, not of several kinds as in\n  ", to_string(X), "\n  ",
              to_string(Y), "\ngive each kind of axis a move of its own, or let between(X, Y) find them");
  return std::make_shared<Move>(*found, X, Y, axes);
}

Step Move::adjoint() const { return made(record_.adjoint, dual(range()), dual(domain()), axes()); }

}  // namespace

Step named_move(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes) {
  Placements from, to;
  for (const MoveRecord& record : kMoves) {
    if (record.name != name) continue;
    from = from | record.from;
    to = to | record.to;
  }
  check_ends(name, X, Y, axes, from, to);
  return made(name, X, Y, axes);
}

Step named_move(std::string_view name, const Space& X, const Space& Y) { return made(name, X, Y, {}); }

}  // namespace riesz::primitives
