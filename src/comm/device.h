// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// The device of a type on which this rank computes: the CPU, or the n-th device of this host for the n-th of
/// its ranks. Ranks beyond the last device share devices: they begin again with the first. In a `Simulation`
/// it is the CPU. A device other than the CPU becomes the current one of this thread.
/// From then on LibTorch's algorithms in this process are deterministic: they add in the same order in each
/// run. If a library such as NCCL is set for the type (`nccl::set_functions_for`), rounds of teams use it
/// from then on. The first such call is collective over the job. It finds which ranks share a device; teams
/// of such ranks do not use the library. All ranks call it alike. For CUDA it loads LibTorch's library for
/// GPUs and ours, once (`load_device_library`). So call it before anything else asks LibTorch for a GPU.
///
/// @throws Error, on each rank whose host has no such devices, or whose library for them cannot be loaded or
/// run; and if the ranks' device types differ, or `RIESZ_NCCL_COMMUNICATORS` is wrong.
at::Device device_of_this_rank(at::DeviceType type);

/// May GPUs round fp32 operands of products and convolutions to tf32, with 10 bits after the point? They may
/// not, until this allows it: each `device_of_this_rank` forbids it, whatever LibTorch does by itself.
void allow_tf32(bool allowed);

}  // namespace riesz
