// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/team/collectives.h"

namespace riesz {
namespace {

LibraryCollective of_library(TeamCall::Kind kind) {
  switch (kind) {
    case TeamCall::Kind::all_reduce:
      return LibraryCollective::all_reduce;
    case TeamCall::Kind::reduce_scatter:
      return LibraryCollective::reduce_scatter;
    case TeamCall::Kind::all_gather:
      return LibraryCollective::all_gather;
  }
  return LibraryCollective::all_reduce;
}

/// A team collective that the device's library does in one call. Its messages are compared and counted as
/// those of the rounds in its place.
class OfLibrary final : public TeamCollective {
 public:
  OfLibrary(TeamCollectiveSpec task, DeviceTransport& transport, const at::Tensor& out, bool add)
      : TeamCollective(task.local.device()),
        task_(std::move(task)),
        transport_(transport),
        out_(out),
        add_(add) {
    std::vector<int> others;
    for (int i = 0; i < task_.members(); ++i) {
      if (i != task_.position) others.push_back(task_.rank(i));
    }
    // Two, as the rounds have, so that the next ones meet also where members begin different collectives.
    for (Reservation& round : reservations_)
      round = Communicator::world().reserve(task_.channel, others, others);
  }

 private:
  bool gathers() const { return task_.call->kind == TeamCall::Kind::all_gather; }
  TensorSpan piece(const at::Tensor& flat) const {
    return {flat, task_.begin(task_.position), task_.size(task_.position)};
  }
  TensorSpan whole(const at::Tensor& flat) const {
    return {flat, task_.begin(0), task_.begin(task_.members()) - task_.begin(0)};
  }

  bool progress() override {
    if (task_.call->kind == TeamCall::Kind::all_reduce) {
      post(whole(task_.local), whole(task_.local));
    } else if (gathers()) {
      const std::int64_t from = task_.call->from;
      post(from < 0 ? piece(task_.local) : TensorSpan(task_.local, from, task_.size(task_.position)),
           whole(out_));
    } else if (add_) {
      const at::Tensor sum = at::empty({task_.size(task_.position)}, out_.options());
      post(whole(task_.local), sum);
      out_.add_(sum);
    } else {
      post(whole(task_.local), out_);
    }
    return true;
  }

  void post(const TensorSpan& from, const TensorSpan& to) {
    std::vector<Transfer> sends, receives;
    Traffic sent;
    const std::int64_t mine = task_.size(task_.position);
    const auto count = [&](std::int64_t elements) {
      if (elements > 0)
        sent += {elements, elements * static_cast<std::int64_t>(task_.local.element_size()), 1};
    };
    for (int i = 0; i < task_.members(); ++i) {
      if (i == task_.position) continue;
      const std::int64_t out = gathers() ? mine : task_.size(i), in = gathers() ? task_.size(i) : mine;
      sends.push_back({task_.rank(i), {task_.local, 0, out}});
      receives.push_back({task_.rank(i), {task_.local, 0, in}});
      count(out);
      if (task_.call->kind == TeamCall::Kind::all_reduce) count(mine);
    }
    reservations_[0].post(task_.operation(), transport_, task_.team, of_library(task_.call->kind), from, to,
                          std::move(sends), std::move(receives), sent);
  }

  const std::string& operation() const override { return task_.operation().text; }
  std::vector<int> waits_for() const override { return {}; }

  TeamCollectiveSpec task_;
  DeviceTransport& transport_;
  at::Tensor out_;
  bool add_;
  Reservation reservations_[2];
};

}  // namespace

std::shared_ptr<TeamCollective> make_of_library(const TeamCollectiveSpec& task, DeviceTransport& transport,
                                                const at::Tensor& out, bool add) {
  const TeamCall::Kind kind = task.call->kind;
  if (!transport.has(of_library(kind), task.team, task.local.scalar_type())) return nullptr;
  if (task.begin(task.members()) == task.begin(0)) return nullptr;
  for (int i = 0; kind != TeamCall::Kind::all_reduce && i < task.members(); ++i) {
    if (task.size(i) != task.size(0)) return nullptr;
  }
  return std::make_shared<OfLibrary>(task, transport, out, add);
}

}  // namespace riesz
