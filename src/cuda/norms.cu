// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of norms. A norm's output has the same bits when it is computed again, and a row's gradient
// has them with and without the weight's. Different kernels compute these, and a compiler may fuse a multiply
// and an add in one of them alone. So this source is compiled without fused multiply and add.
#include "riesz/cuda/launch.h"
#include "riesz/nn/norm/norm_of_row.h"

namespace riesz::cuda {
namespace {

const Registered<detail::NormKernelsOf<float>> norms;
const Registered<detail::NormKernelsOf<kernels::BFloat16>> norms_of_bfloat16;
const Registered<detail::NormKernelsOf<kernels::Half>> norms_of_half;

}  // namespace
}  // namespace riesz::cuda
