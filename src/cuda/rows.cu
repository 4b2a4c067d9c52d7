// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of cross-entropy's rows. A product may be added in one rounding, as on a CPU.
#include "riesz/cuda/launch.h"
#include "riesz/nn/loss/exp_of_row.h"

namespace riesz::cuda {
namespace {

const Registered<detail::ExpKernelsOf<float>> exps;
const Registered<detail::ExpKernelsOf<kernels::BFloat16>> exps_of_bfloat16;
const Registered<detail::ExpKernelsOf<kernels::Half>> exps_of_half;

}  // namespace
}  // namespace riesz::cuda
