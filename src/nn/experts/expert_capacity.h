// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/experts/top_k_gate.h"

namespace riesz {

/// The most choices of a micro-batch that an expert takes where the gate drops some:
/// max(least_capacity, ⌈N/E·capacity_factor·k⌉) of N tokens, a whole number. Local, and pure.
double expert_capacity(const GateOptions& gate, std::int64_t experts, double tokens);

}  // namespace riesz
