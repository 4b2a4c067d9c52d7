// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adamw.h"

#include <utility>

namespace riesz {

AdamW::AdamW(std::shared_ptr<Store> store, const AdamWOptions& options, std::vector<Group> groups)
    : TwoMoments("AdamW", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_value, std::move(groups)) {}

}  // namespace riesz
