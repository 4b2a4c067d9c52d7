// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/optim/state.h"

namespace riesz {

/// The values of untrained parameters: frozen ones, and buffers such as a running mean, which are in no
/// store. With an optimizer's state it is the whole state of a model in training:
///
///     State all = optimizer.state();
///     for (StateView& view : untrained_state(model.parameters())) all.push_back(std::move(view));
///
/// Valid until one is initialised anew; writing into it writes the value. Where copies may differ, those of
/// the first worker count. Local.
/// @throws Error naming one that is Partial on an axis, or has terms where splits overlap.
State untrained_state(const std::vector<Parameter>& parameters);

namespace detail {

/// The value of a parameter that nothing keeps, so that all of it is here. Errors begin with `what`.
StateView whole_value(const std::string& what, const Parameter& parameter);

}  // namespace detail

}  // namespace riesz
