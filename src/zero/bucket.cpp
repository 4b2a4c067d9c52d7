// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/bucket.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/contraction/compute_copy.h"
#include "riesz/primitives/between.h"
#include "riesz/zero/flat_memory.h"

namespace riesz {

Bucket::Bucket(BucketPlan plan, const std::vector<Parameter>& all, int stage, std::int64_t kept_up_to)
    : plan_(std::move(plan)), asked_(lifetimes_of(stage)), kept_up_to_(kept_up_to) {
  std::int64_t elements = 0;
  for (const std::size_t k : plan_.parameters) {
    parameters_.push_back(all[k]);
    begins_.push_back(elements);
    Space use = parameters_.back().space();
    for (const std::string& axis : plan_.axes) use = use.copied(axis);
    use_spaces_.push_back(std::move(use));
    elements += c10::multiply_integers(all[k].space().local_shape());
  }
  team_ = Team::along(parameters_.front().space().partition(), plan_.axes, elements);
  live_ = team_.size() == 1 ? lifetimes_of(0) : asked_;
}

void Bucket::take_over(const std::shared_ptr<TeamMemory>& memory) {
  const at::NoGradGuard no_gradient;
  const at::TensorOptions options = at::TensorOptions(type()).device(parameters_.front().device());
  values_.emplace(team_, live_.values, options, memory);
  copy_values();
  const at::Tensor& piece = values_->piece();
  master_ = type() == sum_type() ? piece : piece.to(sum_type());
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    leaves_.push_back({shaped(values_->whole(), k).requires_grad_(), begins_[k]});
    versions_.push_back(leaf(k)._version());
  }
  values_->release();
  gradients_.emplace(team_, live_, leaves_, options.dtype(sum_type()), memory);
}

void Bucket::copy_values() const {
  const at::Tensor& flat = live_.values == Lifetimes::Values::a_use ? values_->piece() : values_->whole();
  const std::int64_t first = live_.values == Lifetimes::Values::a_use ? team_.begin() : 0;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const std::int64_t numel = c10::multiply_integers(parameters_[k].space().local_shape());
    const Interval part = intersect({begins_[k], begins_[k] + numel}, {first, first + flat.numel()});
    if (part.size() <= 0) continue;
    parameters_[k].copy_to(flat.narrow(0, part.begin - first, part.size()),
                           {part.begin - begins_[k], part.end - begins_[k]});
  }
}

at::ScalarType Bucket::sum_type() const { return accumulation_type(type()); }

const Operation& Bucket::operation(std::string_view what) {
  if (const auto found = operations_.find(what); found != operations_.end()) return found->second;
  std::string over;
  for (const std::string& axis : plan_.axes) over += (over.empty() ? "" : ", ") + axis;
  const std::string counted(what);
  return operations_.try_emplace(counted, counted, counted + " of " + name() + " over " + over).first->second;
}

at::Tensor Bucket::shaped(const at::Tensor& flat, std::size_t k) const {
  return piece_of(flat, begins_[k], parameters_[k].space().local_shape());
}

Interval Bucket::trained(std::size_t k) const {
  const std::int64_t end = std::min(begins_[k] + leaf(k).numel(), from() + master_.numel());
  return {std::min(std::max(begins_[k], from()), end), end};
}

void Bucket::check_unwritten(std::size_t k) const {
  const bool gathered = asked_.values == Lifetimes::Values::a_use;
  if (!gathered && type() == sum_type()) return;
  RIESZ_CHECK(leaf(k)._version() == versions_[k], "Zero: the value of ", parameters_[k].name(),
              " was written in place (at value().local() or leaf()), and ",
              gathered ? "in stage 3 those are gathered copies of what is trained"
                       : "the half values there are cast from fp32 masters, which are trained",
              ", so what was written is lost; write values with Parameter::set");
}

void Bucket::set(std::size_t k, const at::Tensor& local) {
  const at::NoGradGuard no_gradient;
  values_->wait();  // what others read of this worker's is read
  if (values_->state() == Values::State::here) {
    leaf(k).copy_(local);
    versions_[k] = leaf(k)._version();
  } else {
    count_a_write(k);
  }
  const Interval mine = trained(k);
  if (mine.size() <= 0) return;
  const at::Tensor part = local.reshape({-1}).narrow(0, mine.begin - begins_[k], mine.size());
  for (const at::Tensor& flat : {values_->piece(), master_})
    flat.narrow(0, mine.begin - from(), mine.size()).copy_(part);
  if (!masters_.empty()) masters_[k]->write(part.to(master_.options().dtype(sum_type())));
}

at::Tensor Bucket::trained_part(const at::Tensor& flat, std::size_t k) const {
  const Interval mine = trained(k);
  return flat.narrow(0, std::max<std::int64_t>(mine.begin - from(), 0),
                     std::max<std::int64_t>(mine.size(), 0));
}

void Bucket::keep_masters_in(const std::vector<std::shared_ptr<const StateElsewhere>>& places) {
  if (type() == sum_type() || (places.empty() && masters_.empty())) return;
  values_->wait();
  const at::Tensor& piece = values_->piece();
  const at::Tensor memory = places.empty() ? at::empty_like(piece, sum_type()) : at::Tensor();
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const at::Tensor now = masters_.empty() ? trained_part(master_, k) : masters_[k]->read();
    if (places.empty())
      trained_part(memory, k).copy_(now);
    else
      places[k]->write(now);
  }
  masters_ = places;
  master_ = places.empty() ? memory : piece;
}

void Bucket::cast_masters() {
  if (masters_.empty()) return;
  values_->wait();
  for (std::size_t k = 0; k < parameters_.size(); ++k) trained_part(master_, k).copy_(masters_[k]->read());
}

bool Bucket::reduce(bool all, bool wait) {
  const bool whole = live_.values == Lifetimes::Values::always;
  return gradients_->reduce(operation(whole ? "AllReduce" : "ReduceScatter"), all, wait);
}

void Bucket::check_none_late() const {
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    RIESZ_CHECK(
        !gradients_->late(k), "Zero: a gradient of ", parameters_[k].name(),
        " came after the step's were reduced; say begin(i, of) before each of a step's passes (a Chain that "
        "goes backward is one), zero_gradients() after the step, and go back through what is recorded only "
        "once");
  }
}

at::Tensor Bucket::gradient(std::size_t k) {
  at::Tensor flat = gradients_->sum();
  if (live_.values != Lifetimes::Values::always) {
    const Space whole(Partition::world().subset(team_.workers), {elements()});
    flat = between(whole.sharded(0, "subset"), whole)(Vector(whole.sharded(0, "subset"), flat)).local();
  }
  return shaped(flat, k);
}

at::Tensor Bucket::gradient_so_far(std::size_t k, bool reduced) const {
  const at::Tensor mine = gradients_->so_far(k);
  if (!reduced || team_.size() == 1) return mine;
  const Space X(Partition::world().subset(team_.workers), mine.sizes().vec());
  return between(X.partial("subset"), X)(Vector(X.partial("subset"), mine)).local();
}

at::Tensor Bucket::own_gradient(std::size_t k) const { return shaped(gradients_->own(), k); }

std::vector<Share> Bucket::shares(bool own_gradients) const {
  const bool all = live_.values == Lifetimes::Values::always;
  std::vector<Share> shares;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const Interval mine = trained(k);
    const std::int64_t size = std::max<std::int64_t>(mine.size(), 0);
    const std::int64_t at = std::max<std::int64_t>(mine.begin - from(), 0);
    const Space& counted = all ? parameters_[k].space() : use_space(k);
    const Partition& P = counted.partition();
    Share share{parameters_[k], std::max<std::int64_t>(mine.begin - begins_[k], 0), {}, {}, false};
    share.value = master_.narrow(0, at, size);
    share.gradient = gradients_->sum().narrow(0, at, size);
    share.counted = P.active() && counted.leader(P.rank(), {Placement::Replicated}) == P.rank();
    if (own_gradients) share.term = own_gradient(k).view({-1});
    shares.push_back(std::move(share));
  }
  return shares;
}

State Bucket::state() {
  values_->wait();
  State state;
  const std::vector<Share> all = shares(false);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Share& share = all[k];
    const Interval mine{share.begin, share.begin + share.value.numel()};
    const std::int64_t at = share.value.storage_offset() - master_.storage_offset();
    const auto add = [&](const char* key, const at::Tensor& flat) {
      state.push_back({share.parameter.name(), key, share.parameter.space(), mine, share.counted,
                       flat.narrow(0, at, mine.size())});
    };
    add("value", values_->piece());
    if (!master_.is_same(values_->piece())) add("master", master_);
    if (masters_.empty()) continue;
    state.push_back({share.parameter.name(), "master", share.parameter.space(), mine, share.counted, {}});
    state.back().elsewhere = masters_[k];
  }
  return state;
}

void Bucket::updated() {
  if (!master_.is_same(values_->piece())) values_->piece().copy_(master_);
  if (live_.values == Lifetimes::Values::a_use) release();
  values_->changed(operation("AllGather"));
  for (std::size_t k = 0; k < parameters_.size(); ++k) count_a_write(k);
}

void Bucket::release() {
  const bool gathered = live_.values == Lifetimes::Values::a_use && values_->state() != Values::State::absent;
  values_->release();
  if (gathered) detail::forget_compute_copies(values_->whole());
}

/// For autograd, and regions that are computed again: they know of writes to the leaf alone, and values were
/// written where they lie.
void Bucket::count_a_write(std::size_t k) {
  leaf(k).unsafeGetTensorImpl()->bump_version();
  ++versions_[k];
}

std::int64_t Bucket::bytes_of(std::int64_t elements, const at::Tensor& like) const {
  return elements * static_cast<std::int64_t>(like.element_size());
}

std::int64_t Bucket::parameter_bytes() const {
  const bool sharded = live_.values == Lifetimes::Values::a_use;
  return bytes_of(sharded ? values_->piece().numel() : elements(), values_->piece());
}

std::int64_t Bucket::master_bytes() const {
  return master_.is_same(values_->piece()) ? 0 : bytes_of(master_.numel(), master_);
}

std::int64_t Bucket::gradient_bytes() const {
  const at::Tensor& sum = gradients_->sum();
  return bytes_of(live_.gradients == Lifetimes::Gradients::a_micro_batch ? sum.numel() : elements(), sum);
}

std::int64_t Bucket::padding_bytes() const {
  if (live_.values != Lifetimes::Values::a_use) return 0;
  return bytes_of(team_.largest() - values_->piece().numel(), values_->piece());
}

std::int64_t Bucket::gathered_bytes() const {
  return live_.values == Lifetimes::Values::a_use ? bytes_of(elements(), values_->piece()) : 0;
}

}  // namespace riesz
