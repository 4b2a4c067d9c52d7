// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/sum/sum_of_element.h"
#include "riesz/nn/attention/turned_pair.h"
#include "riesz/nn/layers/activation_formulas.h"
#include "riesz/nn/loss/exp_of_row.h"
#include "riesz/nn/norm/norm_of_row.h"
#include "riesz/nn/random/dropped_element.h"

namespace riesz::detail {

/// Calls f with each list of kernels that a device's library compiles.
template <typename F>
void for_each_kernel_list(const F& f) {
  using kernels::BFloat16;
  using kernels::Half;
  f(kernels::SumKernels{});
  f(DropKernels{});
  f(TurnKernelsOf<float>{}), f(TurnKernelsOf<double>{}), f(TurnKernelsOf<BFloat16>{});
  f(TurnKernelsOf<Half>{});
  f(NormKernelsOf<float>{}), f(NormKernelsOf<BFloat16>{}), f(NormKernelsOf<Half>{});
  f(ExpKernelsOf<float>{}), f(ExpKernelsOf<BFloat16>{}), f(ExpKernelsOf<Half>{});
}

/// Calls f with each list of point-wise formulas, which are compiled for values and for gradients.
template <typename F>
void for_each_formula_list(const F& f) {
  f(FormsOf<GeluFormula>{}), f(FormsOf<GeluExactFormula>{}), f(FormsOf<ReluFormula>{});
  f(FormsOf<SiluFormula>{});
}

}  // namespace riesz::detail
