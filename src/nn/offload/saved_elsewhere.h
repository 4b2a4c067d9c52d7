// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

namespace torch::autograd {
struct SavedVariableHooks;
}

namespace riesz::detail {

class BlockCall;

/// For a tensor that a node of this block saves: keeps what it was, and of its memory what `BlockCall` says.
std::unique_ptr<torch::autograd::SavedVariableHooks> saved_elsewhere(std::shared_ptr<BlockCall> block);

}  // namespace riesz::detail
