// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace riesz {

/// Reopens a scope of the maker on a new thread; destroying the result closes it.
using ReopenOnThread = std::function<std::shared_ptr<void>()>;

/// Registers state that every `Thread` inherits from its maker, such as a scope that another folder of src
/// keeps for each thread. The maker calls `capture`. The new thread calls what that returned, unless it is
/// empty, and keeps the result while its body runs. Capture by value, for the maker may end before the
/// thread. Register each kind of state once, at static initialisation:
///
///     const bool carried = carry_to_threads([]() -> ReopenOnThread {
///       if (innermost == nullptr) return {};
///       return [value = innermost->value] { return std::make_shared<Scope>(value); };
///     });
///
/// Do not register state that two threads must not share: a chain, a batch of messages, deferred gradients. A
/// cache needs no registration.
bool carry_to_threads(std::function<ReopenOnThread()> capture);

/// The scopes with which a thread made now begins, in the order of opening.
std::vector<ReopenOnThread> captured_for_thread();

}  // namespace riesz
