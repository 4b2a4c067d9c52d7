// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/sgd.h"

#include <ATen/ops/_fused_sgd.h>

#include "riesz/comm/error.h"
#include "riesz/optim/fused_pass.h"

namespace riesz {
namespace {

Setting general(const SGDOptions& options) {
  check_fraction("SGD", "momentum", options.momentum);
  Setting result{options.learning_rate, options.weight_decay};
  if (options.momentum > 0) result.momentum = options.momentum;
  return result;
}

}  // namespace

SGD::SGD(std::shared_ptr<Store> store, const SGDOptions& options, std::vector<Group> groups)
    : Optimizer("SGD", std::move(store), general(options), std::move(groups), LooksAt::elements),
      dampening_(options.dampening),
      nesterov_(options.nesterov) {
  RIESZ_CHECK(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
              "SGD: nesterov with a momentum of ", options.momentum, " and a dampening of ",
              options.dampening, "; it needs momentum and no dampening");
  if (options.momentum > 0) momentum_ = &keep("momentum");
}

void SGD::update(const std::vector<Share>& shares, const StorePart& part) {
  const auto alike = [this](std::size_t i, std::size_t j) { return setting(i) == setting(j); };
  for (const Run& run : runs(shares, part, alike)) {
    const Setting s = setting(run.first);
    std::vector<at::Tensor> operands{run.value, run.gradient};
    if (momentum_ != nullptr) operands.push_back(momentum_->of(run.first, run.last));
    fused_pass(operands, [&](const std::vector<at::Tensor>& x) {
      at::_fused_sgd_({x[0]}, {x[1]}, at::TensorList(x).slice(2), s.weight_decay, s.momentum.value_or(0),
                      s.learning_rate, dampening_, nesterov_, false, steps() == 1, std::nullopt, found_inf());
    });
  }
}

}  // namespace riesz
