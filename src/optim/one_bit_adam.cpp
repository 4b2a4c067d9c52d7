// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_bit_adam.h"

#include <cmath>
#include <utility>

#include "riesz/comm/error.h"

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
  std::int64_t local = 1;
  for (const std::int64_t n : X.local_shape()) local *= n;
  RIESZ_CHECK(share.size == local, "OneBitAdam: this worker updates ", share.size, " elements of ",
              share.parameter.name(), " of ", local, "; each worker of the fibre must update all it has");
}

}  // namespace

OneBitAdam::OneBitAdam(std::shared_ptr<Store> store, const Partition& fibre, const OneBitAdamOptions& options,
                       std::vector<Group> groups)
    : TwoMoments("OneBitAdam", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_value, std::move(groups)),
      workers_(fibre.size()),
      freeze_step_(options.freeze_step),
      mean_(mean_of(fibre)) {
  RIESZ_CHECK(freeze_step_ > 0, "OneBitAdam: freeze_step is ", freeze_step_,
              "; it must be above 0, for the variance comes from the steps before it");
}

OneBitMean OneBitAdam::mean_of(const Partition& fibre) const {
  std::vector<at::TensorOptions> types;
  std::vector<std::int64_t> sizes;
  for (const Extent& share : extents()) {
    check_whole(share, fibre);
    types.push_back(share.options);
    sizes.push_back(share.size);
  }
  return {fibre, types, sizes};
}

void OneBitAdam::update(const std::vector<Share>& shares) {
  if (steps() <= freeze_step_) return TwoMoments::update(shares);
  std::vector<at::Tensor> momenta;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double beta1 = *setting(i).momentum;
    momenta.push_back(first().of(i));
    momenta.back().mul_(beta1).add_(shares[i].gradient, (1 - beta1) * workers_);
  }
  mean_(momenta);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Setting s = setting(i);
    const at::Tensor variance = second().of(i);
    momenta[i].mul_(variance.gt(0));
    const double first_scale = 1 / (1 - std::pow(*s.momentum, static_cast<double>(steps())));
    const double second_scale = 1 / std::sqrt(1 - std::pow(*s.beta2, static_cast<double>(freeze_step_)));
    if (s.weight_decay != 0) shares[i].value.mul_(1 - s.learning_rate * s.weight_decay);
    const at::Tensor root = variance.sqrt().mul_(second_scale).add_(epsilon());
    shares[i].value.addcdiv_(momenta[i], root, -s.learning_rate * first_scale);
  }
}

std::vector<OptimizerState> OneBitAdam::more_states() const {
  std::vector<OptimizerState> result;
  for (std::size_t i = 0; i < extents().size(); ++i) {
    const Parameter& parameter = extents()[i].parameter;
    result.push_back({parameter, "worker_error", OptimizerState::Lies::own, 0, mean_.worker_errors()[i]});
    result.push_back({parameter, "server_error", OptimizerState::Lies::own, 0, mean_.server_errors()[i]});
  }
  return result;
}

}  // namespace riesz
