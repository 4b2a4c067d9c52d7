// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// Gives the ranges of this process to NVIDIA's profilers, such as Nsight Systems, while it lives: each range
/// of a thread (`Range`) is an NVTX range of its name. Traffic and operations in flight are not shown.
/// Without a profiler a range then costs a jump.
/// @throws Error if ranges go to another sink already, such as a trace, or if libriesz_cuda.so cannot be
/// loaded. No driver is needed.
class NvtxRanges {
 public:
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;
};

}  // namespace riesz
