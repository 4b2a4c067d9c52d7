// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team_messages.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/ordered_sum.h"

namespace riesz {
namespace {

class MessageMove : public TeamMove {
 protected:
  explicit MessageMove(TeamTask task) : TeamMove(task.operation), task_(std::move(task)) {
    std::vector<int> peers;
    for (int i = 0; i < task_.members(); ++i) {
      if (i != task_.place) peers.push_back(task_.rank(i));
    }
    move_ = Communicator::world().number_move(peers, digest(task_));
  }

  /// A leg in which `sent(i)` goes to the member at place i, and `received(i)` comes from it.
  template <typename Sent, typename Received>
  void post(int leg, const Sent& sent, const Received& received) {
    std::vector<Parcel> sends;
    std::vector<Parcel> receives;
    for (int i = 0; i < task_.members(); ++i) {
      if (i == task_.place) continue;
      const Range out = sent(i);
      const Range in = received(i);
      if (out.count > 0) sends.push_back({task_.rank(i), out});
      if (in.count > 0) receives.push_back({task_.rank(i), in});
    }
    exchange_ =
        Communicator::world().post_leg(operation(), move_, leg, std::move(sends), std::move(receives));
  }

  Range range(const at::Tensor& flat, int i) const { return {flat, task_.begin(i), task_.size(i)}; }
  at::Tensor my_piece() const {
    return task_.local.narrow(0, task_.begin(task_.place), task_.size(task_.place));
  }
  bool arrived() { return exchange_->done(); }
  std::vector<int> waits_for() const override { return exchange_->unfinished(); }

  TeamTask task_;

 private:
  std::vector<Round> move_;
  std::unique_ptr<Exchange> exchange_;
};

/// The first half of both reductions: every worker's part of this worker's piece comes together here.
class Reduction : public MessageMove {
 protected:
  explicit Reduction(TeamTask task) : MessageMove(std::move(task)) {
    const at::Tensor mine = my_piece();
    for (int i = 0; i < task_.members(); ++i)
      terms_.push_back(i == task_.place ? mine : at::empty({mine.numel()}, mine.options()));
    post(
        0, [&](int i) { return range(task_.local, i); },
        [&](int i) { return Range(terms_[static_cast<std::size_t>(i)]); });
  }

  at::Tensor sum() {
    const at::Tensor all = ordered_sum(terms_);
    terms_.clear();
    return all;
  }

 private:
  std::vector<at::Tensor> terms_;
};

class AllReduceMove final : public Reduction {
 public:
  explicit AllReduceMove(TeamTask task) : Reduction(std::move(task)) {}

 private:
  bool go_on() override {
    if (!arrived()) return false;
    if (std::exchange(summed_, true)) return true;
    my_piece().copy_(sum());
    post(
        1, [&](int) { return range(task_.local, task_.place); },
        [&](int i) { return range(task_.local, i); });
    return arrived();
  }

  bool summed_ = false;
};

class ReduceScatterMove final : public Reduction {
 public:
  ReduceScatterMove(TeamTask task, at::Tensor out, bool add)
      : Reduction(std::move(task)), out_(std::move(out)), add_(add) {}

 private:
  bool go_on() override {
    if (!arrived()) return false;
    if (add_)
      out_.add_(sum());
    else
      out_.copy_(sum());
    return true;
  }

  at::Tensor out_;
  bool add_;
};

class AllGatherMove final : public MessageMove {
 public:
  AllGatherMove(TeamTask task, bool whole, const at::Tensor& out) : MessageMove(std::move(task)) {
    const std::int64_t size = task_.size(task_.place);
    const Range mine(task_.local, whole ? task_.begin(task_.place) : 0, size);
    if (!out.is_same(task_.local) && !(whole && out.data_ptr() == task_.local.data_ptr()))
      out.narrow(0, task_.begin(task_.place), size).copy_(task_.local.narrow(0, mine.begin, size));
    post(
        0, [&](int) { return mine; }, [&](int i) { return range(out, i); });
  }

 private:
  bool go_on() override { return arrived(); }
};

}  // namespace

std::shared_ptr<TeamMove> all_reduce_by_messages(TeamTask task) {
  return std::make_shared<AllReduceMove>(std::move(task));
}

std::shared_ptr<TeamMove> reduce_scatter_by_messages(TeamTask task, at::Tensor out, bool add) {
  return std::make_shared<ReduceScatterMove>(std::move(task), std::move(out), add);
}

std::shared_ptr<TeamMove> all_gather_by_messages(TeamTask task, bool whole, at::Tensor out) {
  return std::make_shared<AllGatherMove>(std::move(task), whole, out);
}

}  // namespace riesz
