// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of norms and of cross-entropy. A product may be added in one rounding, as on a CPU.
#include "riesz/cuda/launch.h"
#include "riesz/nn/loss/exp_of_row.h"
#include "riesz/nn/norm/norm_of_row.h"

namespace riesz::cuda {
namespace {

using kernels::BFloat16;
using kernels::Half;

const Registered<detail::NormKernelsOf<float>> norms;
const Registered<detail::NormKernelsOf<BFloat16>> norms_of_bfloat16;
const Registered<detail::NormKernelsOf<Half>> norms_of_half;
const Registered<detail::ExpKernelsOf<float>> exps;
const Registered<detail::ExpKernelsOf<BFloat16>> exps_of_bfloat16;
const Registered<detail::ExpKernelsOf<Half>> exps_of_half;

}  // namespace
}  // namespace riesz::cuda
