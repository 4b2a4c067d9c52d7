// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_bit_adam.h"

#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/one_bit_pass.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

void check_whole(const Extent& share, const Partition& fibre) {
  const Space& X = share.parameter.space();
  for (const Axis& axis : fibre.axes()) {
    RIESZ_CHECK(X.partition().find(axis.name) < 0 || axis.extent == 1 ||
                    X.placement(axis.name) == Placement::Replicated,
                "OneBitAdam: ", share.parameter.name(), " is ", to_string(X.placement(axis.name)),
                " on axis ", axis.name, ", in ", to_string(X),
                "; momenta are averaged over it, so it must be Replicated there");
  }
}

std::int64_t elements(const Extent& share) {
  return c10::multiply_integers(share.parameter.space().local_shape());
}

}  // namespace

OneBitAdam::OneBitAdam(std::shared_ptr<Store> store, const Partition& fibre, const OneBitAdamOptions& options,
                       std::vector<Group> groups)
    : TwoMoments("OneBitAdam", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_value, std::move(groups), LooksAt::parameters),
      fibre_(fibre.grid({{"fibre", fibre.size()}})),
      freeze_step_(options.freeze_step),
      mean_(mean_of(fibre)) {
  RIESZ_CHECK(freeze_step_ > 0, "OneBitAdam: freeze_step is ", freeze_step_,
              "; it must be above 0, for the variance comes from the steps before it");
  for (const Extent& share : extents()) {
    if (!updates_parts()) break;
    momenta_.push_back(at::zeros({elements(share)}, share.options));
    has_variance_.push_back(at::zeros({elements(share)}, share.options.dtype(at::kBool)));
  }
}

OneBitMean OneBitAdam::mean_of(const Partition& fibre) const {
  RIESZ_CHECK(store()->holds() != Holds::parts,
              "OneBitAdam: gradients do not lie whole on a worker, and whole momenta are "
              "averaged; it needs parameters that nothing shards over the workers, or ZeRO's stage 0 or 1");
  std::vector<at::TensorOptions> types;
  std::vector<std::int64_t> sizes;
  for (const Extent& share : extents()) {
    check_whole(share, fibre);
    types.push_back(share.options);
    sizes.push_back(elements(share));
  }
  return {fibre, types, sizes};
}

at::Tensor OneBitAdam::over_fibre(const at::Tensor& terms) const {
  const Space X(fibre_, terms.sizes().vec());
  return between(X.partial("fibre"), X)(Vector(X.partial("fibre"), terms)).local();
}

void OneBitAdam::check_complete() const {
  at::Tensor sizes = at::zeros({static_cast<std::int64_t>(extents().size())}, at::kDouble);
  for (std::size_t i = 0; i < extents().size(); ++i)
    sizes[static_cast<std::int64_t>(i)] = static_cast<double>(extents()[i].size);
  const at::Tensor all = over_fibre(sizes);
  for (std::size_t i = 0; i < extents().size(); ++i) {
    const auto needed = static_cast<double>(elements(extents()[i]));
    const double updated = host_value(all[static_cast<std::int64_t>(i)], needed);
    RIESZ_CHECK(updated == needed, name(), ": the workers of the fibre update ", updated, " elements of ",
                extents()[i].parameter.name(), " of ", needed,
                "; the fibre must be the workers that share out its update");
  }
}

/// Momenta and flags are of what was there before.
void OneBitAdam::loaded() {
  TwoMoments::loaded();
  together_ = false;
}

void OneBitAdam::bring_together() {
  if (!updates_parts() || together_) return;
  check_complete();
  for (std::size_t i = 0; i < extents().size(); ++i) {
    const Extent& share = extents()[i];
    const at::Tensor mine = at::zeros({2, elements(share)}, share.options);
    mine[0].narrow(0, share.begin, share.size).copy_(first().of(i));
    mine[1].narrow(0, share.begin, share.size).copy_(second().of(i).gt(0));
    const at::Tensor all = over_fibre(mine);
    momenta_[i].copy_(all[0]);
    has_variance_[i].copy_(all[1].gt(0));
  }
  together_ = true;
}

/// Brings the mean of all momenta here.
void OneBitAdam::prepare(const std::vector<Share>& shares) {
  if (steps() <= freeze_step_) return;
  bring_together();
  std::vector<OneBitTerm> terms;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double beta1 = *setting(i).momentum;
    terms.push_back({finite().defined() ? momentum(i).clone() : momentum(i), beta1, shares[i].arrived(),
                     (1 - beta1) * fibre_.size()});
  }
  mean_(terms, finite());
  averaged_.clear();
  for (const OneBitTerm& term : terms)
    if (finite().defined()) averaged_.push_back(term.vector);
}

/// It waits for a device once at most: after the step that is the last before the freeze, if it was made.
bool OneBitAdam::wants_reduced_gradients() const {
  return steps_begun() < freeze_step_ || (steps_begun() == freeze_step_ && steps() < freeze_step_);
}

void OneBitAdam::update(const std::vector<Share>& shares, const StorePart& part) {
  if (steps() <= freeze_step_) return TwoMoments::update(shares, part);
  if (finite().defined()) return update_there(shares, part);
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Setting s = setting(i);
    const at::Tensor first = this->first().of(i);
    const at::Tensor variance = second().of(i);
    const at::Tensor all = momentum(i);
    if (updates_parts()) all.mul_(has_variance_[i]);
    const at::Tensor mine = all.narrow(0, shares[i].begin, first.numel());
    const double first_scale = 1 / (1 - std::pow(*s.momentum, static_cast<double>(steps())));
    const double second_scale = 1 / std::sqrt(1 - std::pow(*s.beta2, static_cast<double>(freeze_step_)));
    one_bit_apply(shares[i].value, mine, variance, 1 - s.learning_rate * s.weight_decay,
                  s.learning_rate * first_scale, second_scale, epsilon());
    if (updates_parts()) first.copy_(mine);
  }
}

void OneBitAdam::update_there(const std::vector<Share>& shares, const StorePart& part) {
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Setting s = setting(i);
    const at::Tensor first = this->first().of(i);
    const at::Tensor variance = second().of(i);
    at::Tensor all = std::exchange(averaged_[i], at::Tensor());
    all.mul_(updates_parts() ? has_variance_[i] : variance.gt(0));
    const at::Tensor mine = all.narrow(0, shares[i].begin, first.numel());
    write(momentum(i), all);
    if (updates_parts()) write(first, mine);
    const double first_scale = 1 / (1 - std::pow(*s.momentum, static_cast<double>(steps())));
    const double second_scale = 1 / std::sqrt(1 - std::pow(*s.beta2, static_cast<double>(freeze_step_)));
    const at::Tensor root = variance.sqrt().mul_(second_scale).add_(epsilon());
    const at::Tensor& value = shares[i].value;
    const at::Tensor decayed = s.weight_decay == 0 ? value : value.mul(1 - s.learning_rate * s.weight_decay);
    write(value, decayed.addcdiv(mine, root, -s.learning_rate * first_scale));
  }
}

State OneBitAdam::more_kept() const {
  State result;
  for (std::size_t i = 0; i < extents().size(); ++i) {
    const Parameter& parameter = extents()[i].parameter;
    const Partition& P = parameter.space().partition();
    const auto keep = [&](const char* key, const at::Tensor& error) {
      const Space X(P.subset({std::max(P.rank(), 0)}), {error.numel()});
      result.push_back(
          {parameter.name(), own_key(key, P), X, {0, error.numel()}, !extents()[i].copy_of, error});
    };
    keep("worker_error", mean_.worker_errors()[i]);
    keep("server_error", mean_.server_errors()[i]);
  }
  return result;
}

std::int64_t OneBitAdam::derived_bytes() const {
  std::int64_t sum = 0;
  for (const auto& tensors : {momenta_, has_variance_}) {
    for (const at::Tensor& tensor : tensors) sum += static_cast<std::int64_t>(tensor.nbytes());
  }
  return sum;
}

}  // namespace riesz
