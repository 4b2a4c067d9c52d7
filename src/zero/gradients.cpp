// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/gradients.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/zero/flat_memory.h"

namespace riesz {
namespace {

constexpr std::uint64_t kNoPass = 0;  // no pass has this number

}  // namespace

Gradients::Gradients(const Team& team, Lifetimes live, std::vector<Leaf> leaves,
                     const at::TensorOptions& options, const std::shared_ptr<TeamMemory>& memory)
    : team_(team), live_(live), leaves_(std::move(leaves)), memory_(memory) {
  const std::int64_t mine = team_.end() - team_.begin();
  if (in_passing()) {
    sum_ = at::zeros({mine}, options);
    return;
  }
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  own_ = std::make_unique<TeamBuffer>(team_.workers, team_.elements(), type, options.device());
  sum_ = sharded() ? own_->local().narrow(0, team_.begin(), mine) : own_->local();
  came_.resize(leaves_.size(), false);
}

void Gradients::set_aside(std::optional<std::uint64_t> pass) {
  if (own_) return take();
  std::vector<at::Tensor>& all = aside_[pass.value_or(kNoPass)];
  all.resize(leaves_.size());
  for (std::size_t k = 0; k < leaves_.size(); ++k)
    add(all[k], std::exchange(leaves_[k].value.mutable_grad(), at::Tensor()));
}

void Gradients::take(std::optional<std::uint64_t> pass) {
  if (!own_) {
    set_aside(pass);
    waiting_.push_back(std::move(aside_.extract(pass.value_or(kNoPass)).mapped()));
    if (auto others = aside_.extract(kNoPass)) {
      for (std::size_t k = 0; k < leaves_.size(); ++k) add(waiting_.back()[k], std::move(others.mapped()[k]));
    }
    return;
  }
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    at::Tensor& gradient = leaves_[k].value.mutable_grad();
    if (!gradient.defined()) continue;
    const at::Tensor place = piece_of(own_->local(), leaves_[k].begin, leaves_[k].value.sizes());
    if (came_[k])
      place.add_(gradient);
    else
      place.copy_(gradient);
    came_[k] = true;
    gradient.reset();
  }
}

std::int64_t Gradients::waiting() const {
  std::int64_t elements = 0;
  const auto add = [&](const std::vector<at::Tensor>& by_leaf) {
    for (const at::Tensor& each : by_leaf) elements += each.defined() ? each.numel() : 0;
  };
  for (const std::vector<at::Tensor>& of_pass : waiting_) add(of_pass);
  add(unreduced_);
  return elements;
}

void Gradients::fill() {
  if (!own_) return;
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    if (!came_[k]) own_->local().narrow(0, leaves_[k].begin, leaves_[k].value.numel()).zero_();
  }
}

at::Tensor Gradients::so_far(std::size_t k) const {
  const at::Tensor own = piece_of(own_->local(), leaves_[k].begin, leaves_[k].value.sizes());
  at::Tensor sum = came_[k] ? own.clone() : at::zeros(own.sizes(), own.options());
  const at::Tensor& more = leaves_[k].value.grad();
  return more.defined() ? sum.add_(more) : sum;
}

bool Gradients::reduce(const Operation& reduction, bool all, bool wait) {
  if (in_passing()) return pass(reduction, all, wait);
  take();
  fill();
  state_ = State::reducing;
  if (team_.size() == 1) return true;
  collectives_ = {sharded() ? own_->reduce_scatter(reduction, team_.begins, sum_)
                            : own_->all_reduce(reduction, team_.begins)};
  return true;
}

/// Segment after segment: of each worker's piece the next so many elements.
bool Gradients::pass(const Operation& reduction, bool all, bool wait) {
  PassingBuffers& passing = memory_->passing;
  if (unreduced_.empty()) {
    if (!settled(wait) || !passing.free(wait)) return false;
    segment_ = 0;
    take_turn(all);
  }
  state_ = State::reducing;
  for (const std::int64_t n = per_worker(); segment_ < segments(); ++segment_) {
    if (!passing.free(wait)) return false;
    const std::int64_t from = segment_ * n;
    PieceOffsets pieces{0};
    for (int i = 0; i < team_.size(); ++i)
      pieces.push_back(pieces.back() + std::clamp<std::int64_t>(team_.end(i) - team_.begin(i) - from, 0, n));
    fill_segment(pieces, from, passing.next().local());
    const auto mine = static_cast<std::size_t>(team_.mine);
    const std::int64_t size = pieces[mine + 1] - pieces[mine];
    const at::Tensor out = sum_.narrow(0, std::min(from, sum_.numel()), size);
    collectives_.push_back(passing.next().reduce_scatter(reduction, pieces, out, any_));
    passing.take_turn(collectives_.back());
  }
  unreduced_.clear();
  any_ = true;
  return true;
}

void Gradients::take_turn(bool all) {
  while (all && !aside_.empty()) take(aside_.begin()->first);
  if (all || (waiting_.empty() && aside_.contains(kNoPass))) take();
  unreduced_.resize(leaves_.size());
  bool first = true;
  for (; !waiting_.empty() && (first || all); waiting_.pop_front(), first = false) {
    for (std::size_t k = 0; k < leaves_.size(); ++k) add(unreduced_[k], std::move(waiting_.front()[k]));
  }
}

void Gradients::add(at::Tensor& sum, at::Tensor more) const {
  if (sum.defined() && more.defined())
    sum = sum.to(sum_.scalar_type()).add(more);
  else if (more.defined())
    sum = std::move(more);
}

std::int64_t Gradients::per_worker() const {
  const std::int64_t at_once = memory_->passing.elements();
  return at_once >= team_.elements() ? team_.largest() : at_once / team_.size();
}

std::int64_t Gradients::segments() const {
  const std::int64_t n = std::max<std::int64_t>(1, per_worker());
  return (team_.largest() + n - 1) / n;
}

void Gradients::fill_segment(const PieceOffsets& pieces, std::int64_t from, const at::Tensor& flat) {
  for (int i = 0; i < team_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t size = pieces[at + 1] - pieces[at];
    const std::int64_t begin = team_.begin(i) + from;
    if (size > 0) copy_part(begin, begin + size, flat.narrow(0, pieces[at], size));
  }
}

/// Elements [begin, end) of the bucket.
void Gradients::copy_part(std::int64_t begin, std::int64_t end, const at::Tensor& out) const {
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    const std::int64_t first = leaves_[k].begin;
    const std::int64_t from = std::max(begin, first);
    const std::int64_t to = std::min(end, first + leaves_[k].value.numel());
    if (from >= to) continue;
    const at::Tensor part = out.narrow(0, from - begin, to - from);
    if (unreduced_[k].defined())
      part.copy_(unreduced_[k].reshape({-1}).narrow(0, from - first, to - from));
    else
      part.zero_();
  }
}

bool Gradients::settled(bool wait) {
  while (!collectives_.empty()) {
    const std::shared_ptr<TeamCollective> collective = collectives_.front();
    if (!wait && !collective->advance()) return false;
    collectives_.erase(collectives_.begin());
    collective->wait();  // what went wrong with it is thrown once
  }
  return true;
}

void Gradients::finish() {
  if (state_ != State::reducing) return;
  settled(true);
  state_ = State::reduced;
}

void Gradients::again() { state_ = State::collecting; }

void Gradients::drop() {
  settled(true);
  for (const Leaf& leaf : leaves_) leaf.value.mutable_grad().reset();
  std::fill(came_.begin(), came_.end(), false);
  aside_.clear();
  waiting_.clear();
  unreduced_.clear();
  any_ = false;
  again();
}

void Gradients::clear() {
  if (state_ == State::reduced) return;
  (own_ ? own_->local() : sum_).zero_();
  state_ = State::reduced;
}

}  // namespace riesz
