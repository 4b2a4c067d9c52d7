// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/nn/module.h"

namespace riesz {

/// Freezes (`Parameter::freeze`) each parameter whose name, or the path of a module above it, a pattern
/// matches (`name_matches`). A tied weight has its owner's name alone. So "transformer.h.[0-3]" freezes four
/// blocks, and "*" the whole model. Call it on all workers alike, before optimizers and Zero are made: if
/// `whole` made the optimizer's store before, the next step throws. Local.
/// @throws Error naming a pattern that matches no parameter, and modules that there are; `said_in` says where
/// the patterns stand. @throws Error if a parameter has a keeper.
///
///     freeze(model, {"transformer.wte", "transformer.h.[0-3]"});
void freeze(const Module& model, const std::vector<std::string>& patterns,
            const std::string& said_in = "freeze");

/// Freezes each parameter that no pattern matches. So freeze_all_but(model, {"lm_head"}) trains the head
/// alone. Otherwise as `freeze`.
void freeze_all_but(const Module& model, const std::vector<std::string>& patterns,
                    const std::string& said_in = "freeze_all_but");

}  // namespace riesz
