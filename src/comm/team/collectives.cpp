// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/collectives.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/sum/ordered_sum.h"

namespace riesz {
namespace {

using MemberState = TeamWindows::MemberState;

/// First all members are there, with the same collective: those near say so in their windows, the others in
/// front of their first messages. Then this worker does its part, says that it has, and waits until all near
/// have and its messages are done.
class Collective : public TeamCollective {
 protected:
  explicit Collective(TeamCollectiveSpec task) : TeamCollective(task.local.device()), task_(std::move(task)) {
    std::vector<int> far;
    for (int i = 0; i < task_.members(); ++i) {
      if (!task_.near(i)) far.push_back(task_.rank(i));
    }
    all_near_ = far.empty();
    // Both whatever the collective and its pieces, so that the next ones meet also where these differ.
    for (Reservation& round : reservations_) {
      if (!all_near_) round = Communicator::world().reserve(task_.channel, far, far);
    }
    if (task_.windows) number_ = task_.windows->next();
  }

  /// The messages that need nothing but this worker's buffer; they may arrive before `work`.
  virtual void post_first() = 0;
  /// What is done when all have begun and the first messages are there.
  virtual void work() = 0;

  /// A round in which `sent(i)` goes to the far member at position i, and `received(i)` comes from it. In the
  /// first something comes from each, if only what it is up to.
  template <typename Sent, typename Received>
  void post(int round, const Sent& sent, const Received& received) {
    if (all_near()) return;
    std::vector<Transfer> sends;
    std::vector<Transfer> receives;
    std::vector<bool> sends_to, receives_from;  // by far member
    for (int i = 0; i < task_.members(); ++i) {
      if (task_.near(i)) continue;
      const TensorSpan out = sent(i);
      const TensorSpan in = received(i);
      sends_to.push_back(out.count > 0 || round == 0);
      receives_from.push_back(in.count > 0 || round == 0);
      if (sends_to.back()) sends.push_back({task_.rank(i), out});
      if (receives_from.back()) receives.push_back({task_.rank(i), in});
    }
    const Reservation used = reservations_[round].some(sends_to, receives_from);
    requests_ =
        used.post(task_.operation(), std::move(sends), std::move(receives), Counted::sent, task_.team);
  }

  bool all_near() const { return all_near_; }
  std::int64_t bytes(std::int64_t elements) const {
    return elements * static_cast<std::int64_t>(task_.local.element_size());
  }
  /// This worker reads so many elements of the buffer of a member at hand, who counts them,
  void take(int of, std::int64_t elements) {
    if (of != task_.position) task_.windows->take(number_, of, elements);
  }
  /// and writes so many into it.
  void give(int to, std::int64_t elements) const {
    if (to != task_.position) count(elements);
  }

  /// Of the buffer of a member at hand, from an element on.
  std::byte* near(int of, std::int64_t element) const {
    std::byte* first =
        of == task_.position ? static_cast<std::byte*>(task_.local.data_ptr()) : task_.windows->data(of);
    return first + bytes(element);
  }
  TensorSpan span(const at::Tensor& flat, int i) const { return {flat, task_.begin(i), task_.size(i)}; }

  TeamCollectiveSpec task_;

 private:
  const std::string& operation() const final { return task_.operation().text; }

  enum class State { announcing, beginning, arriving, ending };

  void count(std::int64_t elements) const {
    if (elements > 0) Counters::instance().add(task_.operation(), {elements, bytes(elements), 1});
  }

  /// What the others at hand have taken.
  void close() {
    if (!task_.windows) return;
    for (int i = 0; i < task_.members(); ++i) {
      if (i != task_.position && task_.near(i)) count(task_.windows->taken(number_, i));
    }
    task_.windows->reach(number_, MemberState::closed);
  }

  bool progress() final {
    try {
      while (state_ != State::ending) {
        if (!next()) return false;
        note_movement();
      }
      const bool ended =
          (!task_.windows || task_.windows->all_soon(number_, MemberState::ended)) && arrived();
      if (!ended) return false;
      close();
      requests_.reset();  // what arrived need not live as long as this
      return true;
    } catch (...) {
      if (task_.windows) task_.windows->reach(number_, MemberState::closed);
      throw;
    }
  }

  /// True if it came on by a state.
  bool next() {
    if (state_ == State::announcing) {
      if (task_.windows && !task_.windows->announce(number_, *task_.operation().label)) return false;
      post_first();
      state_ = State::beginning;
    } else if (state_ == State::beginning) {
      if (task_.windows && !task_.windows->all_soon(number_, MemberState::begun)) return false;
      if (task_.windows) task_.windows->check(number_);
      state_ = State::arriving;
    } else {
      if (!arrived()) return false;
      work();
      if (task_.windows) task_.windows->reach(number_, MemberState::ended);
      state_ = State::ending;
    }
    return true;
  }

  bool arrived() { return requests_ == nullptr || requests_->done(); }

  std::vector<int> waits_for() const final {
    std::vector<int> ranks = requests_ ? requests_->unfinished() : std::vector<int>{};
    if (!task_.windows) return ranks;
    const bool ending = state_ == State::ending;
    for (const int rank : task_.windows->late(number_, ending ? MemberState::ended : MemberState::begun))
      ranks.push_back(rank);
    return ranks;
  }

  bool all_near_ = true;
  Reservation reservations_[2];  // of messages with the far members
  std::uint64_t number_ = 0;     // on the windows
  std::unique_ptr<Requests> requests_;
  State state_ = State::announcing;
};

/// Every worker's part of this worker's piece: those of far members come here, the others are where they are.
class Reduction : public Collective {
 protected:
  explicit Reduction(TeamCollectiveSpec task) : Collective(std::move(task)) {}

  void post_first() final {
    if (all_near()) return;
    const std::int64_t size = task_.size(task_.position);
    arrivals_.resize(static_cast<std::size_t>(task_.members()));
    for (int i = 0; i < task_.members(); ++i) {
      if (!task_.near(i)) arrivals_[static_cast<std::size_t>(i)] = at::empty({size}, task_.local.options());
    }
    post(
        0, [&](int i) { return span(task_.local, i); },
        [&](int i) { return TensorSpan(arrivals_[static_cast<std::size_t>(i)]); });
  }

  void sum_into(const std::vector<std::byte*>& outs, bool add) {
    std::vector<const std::byte*> terms;
    terms.reserve(static_cast<std::size_t>(task_.members()));
    for (int i = 0; i < task_.members(); ++i) {
      const auto position = static_cast<std::size_t>(i);
      if (task_.near(i)) take(i, task_.size(task_.position));
      terms.push_back(task_.near(i) ? near(i, task_.begin(task_.position))
                                    : static_cast<const std::byte*>(arrivals_[position].const_data_ptr()));
    }
    ordered_sum_into(terms, outs, task_.size(task_.position), task_.local.scalar_type(), add);
    arrivals_.clear();
  }

  /// On another device than the host.
  at::Tensor sum_there() {
    std::vector<at::Tensor> terms = std::move(arrivals_);
    terms.resize(static_cast<std::size_t>(task_.members()));
    const std::int64_t size = task_.size(task_.position);
    terms[static_cast<std::size_t>(task_.position)] =
        task_.local.narrow(0, task_.begin(task_.position), size);
    return ordered_sum(terms);
  }

 private:
  std::vector<at::Tensor> arrivals_;  // by position
};

class TeamAllReduce final : public Reduction {
 public:
  explicit TeamAllReduce(TeamCollectiveSpec task) : Reduction(std::move(task)) {}

 private:
  void work() override {
    const std::int64_t begin = task_.begin(task_.position);
    if (task_.local.is_cpu()) {
      std::vector<std::byte*> outs;
      outs.reserve(static_cast<std::size_t>(task_.members()));
      for (int i = 0; i < task_.members(); ++i) {
        if (!task_.near(i)) continue;
        outs.push_back(near(i, begin));
        give(i, task_.size(task_.position));
      }
      sum_into(outs, false);
    } else {
      task_.local.narrow(0, begin, task_.size(task_.position)).copy_(sum_there());
    }
    post(
        1, [&](int) { return span(task_.local, task_.position); },
        [&](int i) { return span(task_.local, i); });
  }
};

class TeamReduceScatter final : public Reduction {
 public:
  TeamReduceScatter(TeamCollectiveSpec task, at::Tensor out, bool add)
      : Reduction(std::move(task)), out_(std::move(out)), add_(add) {}

 private:
  void work() override {
    if (out_.is_cpu())
      sum_into({static_cast<std::byte*>(out_.mutable_data_ptr())}, add_);
    else if (add_)
      out_.add_(sum_there());
    else
      out_.copy_(sum_there());
  }

  at::Tensor out_;
  bool add_;
};

class TeamAllGather final : public Collective {
 public:
  TeamAllGather(TeamCollectiveSpec task, at::Tensor out)
      : Collective(std::move(task)), out_(std::move(out)) {}

 private:
  std::int64_t first(int of) const { return task_.call->from < 0 ? task_.begin(of) : task_.call->from; }

  void post_first() override {
    post(
        0, [&](int) { return TensorSpan(task_.local, first(task_.position), task_.size(task_.position)); },
        [&](int i) { return span(out_, i); });
  }

  void work() override {
    if (!out_.is_cpu()) {
      const std::int64_t size = task_.size(task_.position);
      if (out_.data_ptr() == task_.local.data_ptr()) return;
      out_.narrow(0, task_.begin(task_.position), size)
          .copy_(task_.local.narrow(0, first(task_.position), size));
      return;
    }
    auto* out = static_cast<std::byte*>(out_.mutable_data_ptr());
    for (int i = 0; i < task_.members(); ++i) {
      if (!task_.near(i)) continue;
      copy_bytes(out + bytes(task_.begin(i)), near(i, first(i)), bytes(task_.size(i)));
      take(i, task_.size(i));
    }
  }

  at::Tensor out_;
};

}  // namespace

std::shared_ptr<TeamCollective> make_all_reduce(TeamCollectiveSpec task) {
  return std::make_shared<TeamAllReduce>(std::move(task));
}

std::shared_ptr<TeamCollective> make_reduce_scatter(TeamCollectiveSpec task, at::Tensor out, bool add) {
  return std::make_shared<TeamReduceScatter>(std::move(task), std::move(out), add);
}

std::shared_ptr<TeamCollective> make_all_gather(TeamCollectiveSpec task, at::Tensor out) {
  return std::make_shared<TeamAllGather>(std::move(task), std::move(out));
}

}  // namespace riesz
