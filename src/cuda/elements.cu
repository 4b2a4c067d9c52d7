// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels that have the CPU's bits: sums in rank order, dropout, rotary. This source is compiled without
// fused multiply and add.
#include "riesz/comm/sum/sum_of_element.h"
#include "riesz/cuda/launch.h"
#include "riesz/nn/attention/turned_pair.h"
#include "riesz/nn/random/dropped_element.h"

namespace riesz::cuda {
namespace {

const Registered<kernels::SumKernels> sums;
const Registered<detail::DropKernels> drops;
const Registered<detail::TurnKernelsOf<float>> turns;
const Registered<detail::TurnKernelsOf<double>> turns_of_double;
const Registered<detail::TurnKernelsOf<kernels::BFloat16>> turns_of_bfloat16;
const Registered<detail::TurnKernelsOf<kernels::Half>> turns_of_half;

}  // namespace
}  // namespace riesz::cuda
