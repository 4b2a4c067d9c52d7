// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Ranges for NVIDIA's profilers. NVTX is headers alone: without a profiler a call is a load and a jump.
#include <nvtx3/nvToolsExt.h>

#include "riesz/cuda/interface.h"

void riesz_cuda_range_push(const char* name) { nvtxRangePushA(name); }
void riesz_cuda_range_pop() { nvtxRangePop(); }
