// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace riesz {

/// Opens on a new thread what was open on its maker; what it returns closes it.
using OpenAgain = std::function<std::shared_ptr<void>()>;

/// Has every `Thread` begin with more of its maker's state, such as a scope that a room above keeps for each
/// thread. The maker calls `capture`; the new thread calls what that returned, unless it is empty, keeps the
/// result while its body runs, and destroys it then. Captured by value, for the maker may be gone before the
/// thread is. To be said once for each kind of state, at static initialisation:
///
///     const bool carried = carry_to_threads([]() -> OpenAgain {
///       if (innermost == nullptr) return {};
///       return [value = innermost->value] { return std::make_shared<Scope>(value); };
///     });
///
/// What two threads must not be in at once is not carried: a chain, a batch of messages, gradients that are
/// put off. A cache needs no carrying.
bool carry_to_threads(std::function<OpenAgain()> capture);

/// What a thread made now begins with, in the order in which it is opened.
std::vector<OpenAgain> captured_for_a_thread();

}  // namespace riesz
