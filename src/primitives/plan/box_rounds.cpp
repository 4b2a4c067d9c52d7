// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/box_rounds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "riesz/primitives/plan/routes.h"

namespace riesz {
namespace {

using Shape = std::vector<std::int64_t>;

class Planner {
 public:
  Planner(const Space& X, const Space& Y, const std::vector<int>& axes, int worker, const Hosts& hosts)
      : hosts_(hosts),
        X_(X),
        Y_(Y),
        P_(X.partition()),
        Q_(Y.partition()),
        routes_(X, Y, axes),
        axes_(axes),
        worker_(worker),
        in_P_(P_.rank_in(worker)),
        in_Q_(P_ == Q_ ? in_P_ : Q_.rank_in(worker)) {}

  Rounds plan() {
    rounds_.detached = P_ != Q_;  // within one partition all make the call together
    rounds_.y_shape = in_Q_ < 0 ? Shape{0} : Y_.local_shape(in_Q_);
    if (routes_.adds()) {
      round_.combination = Round::Combination::sum;
      round_.combined_in = Round::Type::sums;
    }
    if (in_P_ >= 0) plan_sends();
    if (in_Q_ >= 0) {
      plan_receives();
      plan_shortcuts();
    }
    if (rounds_.identity) return std::move(rounds_);
    if (in_P_ >= 0 && !rounds_.detached) rounds_.collective = collective();
    rounds_.add(std::move(round_));
    if (!copies_.empty()) rounds_.add(spread(copies_, worker_, rounds_.y_shape));
    return std::move(rounds_);
  }

 private:
  bool copies_between_hosts() const { return !hosts_.empty() && !routes_.adds(); }

  /// Those of the routes of one sender that bring the same to the host of `route`.
  std::optional<HostCopy> copy_of(const std::vector<Route>& routes, const Route& route, int sender) const {
    const int peer = Q_.world_rank(route.rank);
    if (!copies_between_hosts() || !on_two_hosts(hosts_, P_.world_rank(sender), peer)) return std::nullopt;
    HostCopy copy{sender, {}, route.elements};
    for (const Route& each : routes) {
      const int other = Q_.world_rank(each.rank);
      if (!on_two_hosts(hosts_, peer, other) && each.parts == route.parts) copy.receivers.push_back(other);
    }
    return copy.receivers.size() > 1 ? std::optional(std::move(copy)) : std::nullopt;
  }

  /// What goes from a sender to the workers of this one's host: all routes that `copy_of` needs.
  std::map<int, std::vector<Route>> routes_to_this_host() const {
    std::map<int, std::vector<Route>> by_sender;
    for (int rank = 0; copies_between_hosts() && rank < Q_.size(); ++rank) {
      if (on_two_hosts(hosts_, worker_, Q_.world_rank(rank))) continue;
      for (const Route& route : routes_.incoming(rank)) {
        if (!on_two_hosts(hosts_, worker_, P_.world_rank(route.rank))) continue;
        by_sender[route.rank].push_back(routes_.sent(route.rank, rank));
      }
    }
    return by_sender;
  }

  void plan_sends() {
    const Shape shape = X_.local_shape(in_P_);
    const Route* before = nullptr;
    outgoing_ = routes_.outgoing(in_P_);
    const std::vector<Route>& routes = outgoing_;
    for (const Route& route : routes) {
      const int peer = Q_.world_rank(route.rank);
      if (peer == worker_) {
        kept_ = route;
        continue;
      }
      if (const auto copy = copy_of(routes, route, in_P_)) {
        std::vector<Box> piece = copy->piece_for(peer, route.parts);
        if (!piece.empty()) round_.sends.push_back({peer, Parts::out_of(shape, std::move(piece))});
        before = nullptr;
        continue;
      }
      const bool repeats = before != nullptr && before->parts == route.parts;
      round_.sends.push_back({peer, Parts::out_of(shape, route.parts), repeats});
      before = &route;
    }
  }

  void plan_receives() {
    incoming_ = routes_.incoming(in_Q_);
    const std::map<int, std::vector<Route>> here = routes_to_this_host();
    for (std::size_t i = 0; i < incoming_.size(); ++i) {
      const Route& route = incoming_[i];
      const int peer = P_.world_rank(route.rank);
      if (peer == worker_) {
        round_.stays_at = round_.receives.size();
        kept_at_ = i;
      }
      std::vector<Box> parts = route.parts;
      const auto from_sender = here.find(route.rank);
      if (auto copy =
              from_sender == here.end() ? std::nullopt : copy_to_this(from_sender->second, route.rank)) {
        parts = copy->piece_for(worker_, route.parts);
        copies_.emplace_back(std::move(*copy), route.parts);
      }
      if (!parts.empty()) round_.receives.push_back({peer, Parts::into(rounds_.y_shape, std::move(parts))});
    }
    if (!round_.stays_at) return;
    const Route& there = incoming_[kept_at_];
    round_.stays = {kept_.parts, {}, kept_.elements};
    for (std::size_t part = 0; part < kept_.parts.size(); ++part) {
      round_.stays.copies.push_back(
          box_copy(X_.local_shape(in_P_), kept_.parts[part], rounds_.y_shape, there.parts[part]));
    }
  }

  /// The host copy in which something comes to this worker from a sender.
  std::optional<HostCopy> copy_to_this(const std::vector<Route>& routes, int sender) const {
    for (const Route& route : routes) {
      if (route.rank == in_Q_) return copy_of(routes, route, sender);
    }
    return std::nullopt;
  }

  /// What need not be done: adding by cells, filling y with zeros first, copying at all.
  void plan_shortcuts() {
    const std::int64_t elements = volume(Y_.boxes(in_Q_));
    std::int64_t arriving = 0;
    for (const Route& route : incoming_) arriving += route.elements;
    const bool adds = routes_.adds();
    round_.whole =
        !incoming_.empty() && std::all_of(incoming_.begin(), incoming_.end(), [&](const Route& route) {
          return route.parts.size() == 1 && route.elements == elements;
        });
    if (adds && !round_.whole) round_.cells = sum_cells(incoming_, rounds_.y_shape);
    round_.fills = !adds && arriving == elements;
    rounds_.identity = round_.stays_at && round_.sends.empty() && incoming_.size() == 1 && round_.whole &&
                       kept_.parts.size() == 1 && kept_.elements == volume(X_.boxes(in_P_));
  }

  /// A split that overlaps may send other pieces on each worker; of all others, all have the same pieces of
  /// what is whole on each.
  static bool overlaps(const Space& S) {
    for (int dim = 0; dim < S.dims(); ++dim) {
      for (const Shard& shard : S.shards(dim)) {
        if (shard.overlaps()) return true;
      }
    }
    return false;
  }

  /// Do the routes cut a tensor of this shape into one piece for each member, of one size, in their order?
  bool in_order(const std::vector<Route>& routes, const Shape& whole, std::int64_t piece) const {
    if (routes.size() != P_.fibre(in_P_, axes_).size() || piece == 0) return false;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      if (routes[i].parts.size() != 1 || routes[i].elements != piece) return false;
      const Parts parts = Parts::into(whole, routes[i].parts);
      if (!parts.direct() || parts.copies.front().to != static_cast<std::int64_t>(i) * piece) return false;
    }
    return true;
  }

  static bool cut_by(const Space& S, int axis) { return S.placement(axis) == Placement::Sharded; }

  std::optional<LibraryCollective> collective() const {
    if (overlaps(X_) || overlaps(Y_)) return std::nullopt;
    const Space& whole = routes_.adds() ? X_ : Y_;
    if (std::any_of(axes_.begin(), axes_.end(), [&](int axis) { return cut_by(whole, axis); }))
      return std::nullopt;
    const std::int64_t x = volume(X_.boxes(in_P_)), y = volume(Y_.boxes(in_P_));
    const auto p = static_cast<std::int64_t>(incoming_.size());
    if (!routes_.adds() && y == p * x && in_order(incoming_, rounds_.y_shape, x))
      return LibraryCollective::all_gather;
    if (routes_.adds() && round_.whole && x == p * y && in_order(outgoing_, X_.local_shape(in_P_), y))
      return LibraryCollective::reduce_scatter;
    return std::nullopt;
  }

  const Hosts& hosts_;
  const Space& X_;
  const Space& Y_;
  const Partition& P_;
  const Partition& Q_;
  Routes routes_;
  const std::vector<int>& axes_;
  int worker_;
  int in_P_;
  int in_Q_;
  Route kept_{0, {}, 0};
  std::vector<Route> outgoing_, incoming_;
  std::size_t kept_at_ = 0;  // among these
  std::vector<CopyInY> copies_;
  Round round_;
  Rounds rounds_;
};

}  // namespace

Rounds box_rounds(const Space& X, const Space& Y, const std::vector<int>& axes, int worker,
                  const Hosts& hosts) {
  return Planner(X, Y, axes, worker, hosts).plan();
}

}  // namespace riesz
