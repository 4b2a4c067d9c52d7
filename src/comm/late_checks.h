// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Checks of values that a device computes, such as ids or gradients. A training step does not wait for them:
// it puts the checks off, and a later place of the program throws what they find. On the CPU nothing is put
// off.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "riesz/comm/late_value.h"

namespace riesz {

/// Judges a value on the host; throws if it is bad. It runs later, on any thread, so it captures what it
/// needs by value. It reads numbers by `host_value`.
using HostCheck = std::function<void(const at::Tensor& value)>;

/// Checks a value. If it comes from the CPU, the check runs here and throws here. If it comes from a device,
/// the check is put off, and the next `settle_late_checks` that covers it throws what it throws. The error
/// then names the layer that is current here. Local.
void check_later(LateValue value, HostCheck check);

/// How many checks were put off so far in this process. Between the begin and the end of a step the number
/// marks the checks of that step.
std::uint64_t late_checks_so_far();

/// Settles the checks that were put off: waits for their values, and throws what the first bad one throws.
/// The others are then dropped, since they mostly have the same cause. All workers call it at the same places
/// of their programs. If all find the same, all throw it. If only one finds something, that worker throws
/// alone, just as a check on the CPU would.
///
/// `Optimizer::step` settles those that were put off up to the end of its own previous step. So a bad value
/// is an error one step late. The host waits only for the step before, while the device has the work of this
/// one. A `Runtime` that ends settles the rest; there an error ends the job. A program that evaluates without
/// an optimizer calls it where it reads its results.
///
/// Does nothing in a `Simulation`, whose values mean nothing.
void settle_late_checks();
/// The same for the first so many that were put off, as `late_checks_so_far` counts them. Later ones wait
/// for their turn.
void settle_late_checks(std::uint64_t first);

}  // namespace riesz
