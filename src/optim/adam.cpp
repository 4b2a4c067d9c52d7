// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adam.h"

#include <utility>

namespace riesz {

Adam::Adam(std::shared_ptr<Store> store, const AdamOptions& options, std::vector<Group> groups)
    : TwoMoments("Adam", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_gradient, std::move(groups)) {}

}  // namespace riesz
