// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace riesz::testing::pretend {

/// The kernel of every operator that has none here: the CPU's, queued in the current stream. Where the result
/// is a value of the host, or its shape depends on values, it waits and is counted as a host read.
void run_on_stream(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace riesz::testing::pretend
