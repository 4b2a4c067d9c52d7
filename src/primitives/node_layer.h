// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/layer_scope.h"

namespace torch::autograd {
struct AutogradContext;
}

namespace riesz::detail {

/// In a node's forward: keeps the layer in which it is recorded, while `Counters` keep records.
void save_layer(torch::autograd::AutogradContext* context);

/// In its backward: what it sends is of that layer, in phase backward, while the result lives.
LayerScope saved_layer(torch::autograd::AutogradContext* context);

}  // namespace riesz::detail
