// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// The device of a type on which this rank computes: the CPU, or of the devices of this host the one with the
/// number of this rank among the ranks of this host. That becomes the current device of this thread, and
/// LibTorch adds in the same order in each run from then on. In a `Simulation` it is the CPU. Local.
/// @throws Error, on all ranks of a host, if the program has no such devices, or the host fewer than ranks.
at::Device device_of_this_rank(at::DeviceType type);

}  // namespace riesz
