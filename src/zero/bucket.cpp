// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/bucket.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/ordered_sum.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

Team team_of(const Partition& P, const std::vector<std::string>& axes, std::int64_t elements) {
  Team team;
  if (P.active()) {
    std::vector<int> positions;
    for (const std::string& axis : axes) positions.push_back(P.index(axis));
    for (const int rank : P.fibre(P.rank(), positions)) {
      if (rank == P.rank()) team.mine = team.size();
      team.workers.push_back(P.world_rank(rank));
    }
  } else {
    team.workers = {Runtime::rank()};
  }
  const Split split = Split::balanced(elements, team.size());
  for (int i = 0; i < team.size(); ++i) team.begins.push_back(split[i].begin);
  team.begins.push_back(elements);
  return team;
}

}  // namespace

std::int64_t Team::largest() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) most = std::max(most, begins[i + 1] - begins[i]);
  return most;
}

bool PassingBuffers::free(bool wait) {
  const std::shared_ptr<TeamMove>& move = moves[turn % moves.size()];
  if (move && wait) move->wait();
  return !move || move->advance();
}

Bucket::Bucket(BucketPlan plan, const std::vector<Parameter>& all, int stage, std::int64_t kept_up_to)
    : plan_(std::move(plan)), kept_up_to_(kept_up_to) {
  std::int64_t elements = 0;
  for (const std::size_t k : plan_.parameters) {
    parameters_.push_back(all[k]);
    offsets_.push_back(elements);
    elements += all[k].leaf().numel();
  }
  type_ = parameters_.front().leaf().scalar_type();
  team_ = team_of(parameters_.front().space().partition(), plan_.axes, elements);
  asked_ = stage;
  stage_ = team_.size() == 1 ? 0 : stage;
  taken_.resize(parameters_.size(), false);
}

void Bucket::take_over(const std::shared_ptr<TeamMemory>& shared) {
  shared_ = shared;
  const at::NoGradGuard no_gradient;
  take_over_values();
  make_leaves();
  make_gradients(piece_.options().dtype(sum_type()));
}

void Bucket::take_over_values() {
  const at::TensorOptions options = parameters_.front().leaf().options().requires_grad(false);
  if (stage_ == 1 || stage_ == 2)
    values_ = std::make_unique<TeamBuffer>(team_.workers, elements(), type_, options.device());
  else
    whole_.emplace(elements(), options);
  const at::Tensor flat = whole_ ? whole_->tensor() : values_->local();
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const at::Tensor value = parameters_[k].leaf().detach();
    RIESZ_CHECK(value.scalar_type() == type_, "Zero: ", parameters_[k].name(), " is of type ",
                value.scalar_type(), ", ", parameters_.front().name(), " of ", type_,
                "; a model's parameters are of one type");
    piece_of(flat, offset(k), value.sizes()).copy_(value);
  }
  piece_ = stage_ == 0 ? flat : flat.narrow(0, team_.begin(), team_.end() - team_.begin());
  if (shards_values()) {
    from_ = std::exchange(shared_->next, shared_->next + team_.largest());
    piece_ = shared_->pieces->local().narrow(0, from_, piece_.numel()).copy_(piece_);
  }
  master_ = type_ == sum_type() ? piece_ : piece_.to(sum_type());
}

void Bucket::make_leaves() {
  const at::Tensor flat = whole_ ? whole_->tensor() : values_->local();
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    leaves_.push_back(piece_of(flat, offset(k), parameters_[k].space().local_shape()).requires_grad_());
    versions_.push_back(leaves_.back()._version());
  }
}

void Bucket::make_gradients(const at::TensorOptions& options) {
  if (shards_gradients()) {
    sum_ = at::zeros(piece_.sizes(), options);
    return;
  }
  gradients_ = std::make_unique<TeamBuffer>(team_.workers, elements(), sum_type(), options.device());
  sum_ = stage_ == 0 ? gradients_->local() : gradients_->local().narrow(0, team_.begin(), piece_.numel());
}

at::ScalarType Bucket::sum_type() const { return accumulation_type(type_); }

Operation Bucket::operation(const char* what) const {
  std::string over;
  for (const std::string& axis : plan_.axes) over += (over.empty() ? "" : ", ") + axis;
  return {what, std::string(what) + " of " + name() + " over " + over};
}

Space Bucket::use_space(std::size_t k) const {
  Space use = parameters_[k].space();
  for (const std::string& axis : plan_.axes) use = use.copied(axis);
  return use;
}

void Bucket::fetch() {
  if (state_ != Values::absent) return;
  whole_->take();
  coming_ = shared_->pieces->all_gather(operation("AllGather"), team_.begins, TeamBuffer::Holds::piece,
                                        whole_->tensor(), from_);
  state_ = Values::coming;
}

void Bucket::use() {
  fetch();
  if (state_ == Values::coming) coming_->wait();  // again the same Error, where it has failed
  coming_ = nullptr;
  state_ = Values::there;
}

void Bucket::settle() {
  if (state_ == Values::coming) use();
}

void Bucket::check_unwritten(std::size_t k) const {
  if (asked_ != 3 && type_ == sum_type()) return;
  RIESZ_CHECK(leaves_[k]._version() == versions_[k], "Zero: the value of ", parameters_[k].name(),
              " was written in place (at value().local() or leaf()), and ",
              asked_ == 3 ? "in stage 3 those are gathered copies of what is trained"
                          : "the half values there are cast from fp32 masters, which are trained",
              ", so what was written is lost; write values with Parameter::set");
}

void Bucket::set(std::size_t k, const at::Tensor& local) {
  const at::NoGradGuard no_gradient;
  settle();  // what others read of this worker's is read
  if (state_ == Values::there) {
    leaves_[k].copy_(local);
    versions_[k] = leaves_[k]._version();
  }
  const std::int64_t from = stage_ == 0 ? 0 : team_.begin();
  const std::int64_t begin = std::max(offset(k), from);
  const std::int64_t end = std::min(offset(k) + leaves_[k].numel(), from + master_.numel());
  if (begin >= end) return;
  const at::Tensor part = local.reshape({-1}).narrow(0, begin - offset(k), end - begin);
  for (const at::Tensor& flat : {piece_, master_}) flat.narrow(0, begin - from, end - begin).copy_(part);
}

void Bucket::let_go() {
  if (!shards_values() || state_ == Values::absent) return;
  use();
  whole_->let_go();
  state_ = Values::absent;
}

void Bucket::add_gradients_to(const at::Tensor& flat) {
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    at::Tensor& gradient = leaves_[k].mutable_grad();
    if (!gradient.defined()) continue;
    const at::Tensor place = piece_of(flat, offset(k), leaves_[k].sizes());
    if (taken_[k])
      place.add_(gradient);
    else
      place.copy_(gradient);
    taken_[k] = true;
    gradient.reset();
  }
}

void Bucket::take_gradients() {
  if (!shards_gradients()) add_gradients_to(gradients_->local());
}

void Bucket::fill_gradients_in(const at::Tensor& flat) {
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    if (!taken_[k]) piece_of(flat, offset(k), parameters_[k].space().local_shape()).zero_();
  }
}

void Bucket::fill_gradients() {
  if (!shards_gradients()) fill_gradients_in(gradients_->local());
}

void Bucket::check_taken() const {
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    RIESZ_CHECK(
        !leaves_[k].grad().defined(), "Zero: a gradient of ", parameters_[k].name(),
        " came after the step's were reduced; say begin(i, of) before each of a step's micro-batches, "
        "zero_gradients() after the step, and go back through what is recorded only once");
  }
}

bool Bucket::reduce(bool wait) {
  if (reducing_ && (wait || reducing_->advance())) finish();
  if (reducing_) return false;
  if (shards_gradients() && !shared_->passing.free(wait)) return false;
  const std::size_t turn = shards_gradients() ? shared_->passing.turn++ % shared_->passing.buffers.size() : 0;
  TeamBuffer& buffer = shards_gradients() ? *shared_->passing.buffers[turn] : *gradients_;
  const at::Tensor flat = buffer.local();
  add_gradients_to(flat);
  fill_gradients_in(flat);
  reduced_ = true;
  if (team_.size() == 1) return true;
  if (stage_ == 0)
    reducing_ = buffer.all_reduce(operation("AllReduce"), team_.begins);
  else
    reducing_ = buffer.reduce_scatter(operation("ReduceScatter"), team_.begins, sum_,
                                      shards_gradients() && std::exchange(summed_, true));
  if (shards_gradients()) shared_->passing.moves[turn] = reducing_;
  if (shards_gradients()) std::fill(taken_.begin(), taken_.end(), false);
  return true;
}

void Bucket::finish() {
  if (reducing_) std::exchange(reducing_, nullptr)->wait();
}

void Bucket::zero_gradients() {
  finish();
  for (const at::Tensor& leaf : leaves_) leaf.mutable_grad().reset();
  std::fill(taken_.begin(), taken_.end(), false);
  summed_ = false;
  reduced_ = false;
}

at::Tensor Bucket::gradient(std::size_t k) {
  at::Tensor flat = sum_;
  if (stage_ > 0) {
    const Space whole(Partition::world().subset(team_.workers), {elements()});
    flat = between(whole.sharded(0, "subset"), whole)(Vector(whole.sharded(0, "subset"), sum_)).local();
  }
  return piece_of(flat, offset(k), parameters_[k].space().local_shape());
}

at::Tensor Bucket::own_gradient(std::size_t k) const {
  return piece_of(gradients_->local(), offset(k), parameters_[k].space().local_shape());
}

std::vector<Share> Bucket::shares(bool own_gradients) const {
  const std::int64_t from = stage_ == 0 ? 0 : team_.begin();
  std::vector<Share> shares;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const Parameter& parameter = parameters_[k];
    const std::int64_t end = std::min(offset(k) + leaves_[k].numel(), from + master_.numel());
    const std::int64_t begin = std::min(std::max(offset(k), from), end);
    const Space counted = stage_ == 0 ? parameter.space() : use_space(k);
    const Partition& P = counted.partition();
    Share share{parameter, std::max<std::int64_t>(begin - offset(k), 0), {}, {}, false};
    share.value = master_.narrow(0, std::max<std::int64_t>(begin - from, 0), end > begin ? end - begin : 0);
    share.gradient = sum_.narrow(0, std::max<std::int64_t>(begin - from, 0), end > begin ? end - begin : 0);
    share.counted = P.active() && counted.leader(P.rank(), {Placement::Replicated}) == P.rank();
    if (own_gradients) share.term = own_gradient(k).view({-1});
    shares.push_back(std::move(share));
  }
  return shares;
}

void Bucket::updated() {
  if (!master_.is_same(piece_)) piece_.copy_(master_);
  if (stage_ == 1 || stage_ == 2) {
    coming_ =
        values_->all_gather(operation("AllGather"), team_.begins, TeamBuffer::Holds::whole, values_->local());
    state_ = Values::coming;
  } else {
    let_go();
  }
}

std::int64_t Bucket::parameter_bytes() const {
  const std::int64_t elements_held = shards_values() ? piece_.numel() : elements();
  return elements_held * static_cast<std::int64_t>(piece_.element_size());
}

std::int64_t Bucket::master_bytes() const {
  return master_.is_same(piece_) ? 0 : master_.numel() * static_cast<std::int64_t>(master_.element_size());
}

std::int64_t Bucket::gradient_bytes() const {
  const std::int64_t elements_held = shards_gradients() ? sum_.numel() : elements();
  return elements_held * static_cast<std::int64_t>(sum_.element_size());
}

std::int64_t Bucket::padding_bytes() const {
  return shards_values()
             ? (team_.largest() - piece_.numel()) * static_cast<std::int64_t>(piece_.element_size())
             : 0;
}

std::int64_t Bucket::gathered_bytes() const {
  return shards_values() ? elements() * static_cast<std::int64_t>(piece_.element_size()) : 0;
}

}  // namespace riesz
