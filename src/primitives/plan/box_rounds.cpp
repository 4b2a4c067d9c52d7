// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/box_rounds.h"

#include <algorithm>
#include <utility>

#include "riesz/primitives/plan/routes.h"

namespace riesz {
namespace {

using Shape = std::vector<std::int64_t>;

class Planner {
 public:
  Planner(const Space& X, const Space& Y, const std::vector<int>& axes, int worker)
      : X_(X),
        Y_(Y),
        P_(X.partition()),
        Q_(Y.partition()),
        routes_(X, Y, axes),
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
    rounds_.rounds.push_back(std::move(round_));
    return std::move(rounds_);
  }

 private:
  void plan_sends() {
    const Shape shape = X_.local_shape(in_P_);
    const Route* before = nullptr;
    std::vector<Route> routes = routes_.outgoing(in_P_);
    for (Route& route : routes) {
      const int peer = Q_.world_rank(route.rank);
      if (peer == worker_) {
        kept_ = route;
        continue;
      }
      const bool repeats = before != nullptr && before->parts == route.parts;
      round_.sends.push_back({peer, Parts::out_of(shape, route.parts), repeats});
      before = &route;
    }
  }

  void plan_receives() {
    incoming_ = routes_.incoming(in_Q_);
    for (const Route& route : incoming_) {
      const int peer = P_.world_rank(route.rank);
      if (peer == worker_) round_.stays_at = round_.receives.size();
      round_.receives.push_back({peer, Parts::into(rounds_.y_shape, route.parts)});
    }
    if (!round_.stays_at) return;
    const Route& there = incoming_[*round_.stays_at];
    round_.stays = {kept_.parts, {}, kept_.elements};
    for (std::size_t part = 0; part < kept_.parts.size(); ++part) {
      round_.stays.copies.push_back(
          box_copy(X_.local_shape(in_P_), kept_.parts[part], rounds_.y_shape, there.parts[part]));
    }
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

  const Space& X_;
  const Space& Y_;
  const Partition& P_;
  const Partition& Q_;
  Routes routes_;
  int worker_;
  int in_P_;
  int in_Q_;
  Route kept_{0, {}, 0};
  std::vector<Route> incoming_;
  Round round_;
  Rounds rounds_;
};

}  // namespace

Rounds box_rounds(const Space& X, const Space& Y, const std::vector<int>& axes, int worker) {
  return Planner(X, Y, axes, worker).plan();
}

}  // namespace riesz
