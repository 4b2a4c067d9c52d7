// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// The device of a type on which this rank computes: the CPU, or the n-th device of this host for the n-th of
/// its ranks. In a `Simulation` it is the CPU. Any other device becomes the current one of this thread.
/// From then on LibTorch's algorithms in this process are deterministic: they add in the same order in each
/// run. If a library such as NCCL is set for the type (`nccl::set_functions_for`), rounds of teams use it
/// from then on. The call is then collective over the job. All ranks call it alike.
/// @throws Error, on all ranks of a host, if the program has no such devices, or the host has fewer devices
/// than ranks. @throws Error also if the ranks' device types differ, or `RIESZ_NCCL_COMMUNICATORS` is wrong.
at::Device device_of_this_rank(at::DeviceType type);

}  // namespace riesz
