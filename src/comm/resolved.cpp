// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/resolved.h"

#include <ATen/ops/zeros.h>

namespace riesz {

at::Tensor resolved(const at::Tensor& x) {
  if (x._is_zerotensor()) return at::zeros(x.sizes(), x.options());
  return x.is_conj() || x.is_neg() ? x.resolve_conj().resolve_neg() : x;
}

bool is_plain(const at::Tensor& x) {
  return x.is_contiguous() && !x.is_conj() && !x.is_neg() && !x._is_zerotensor();
}

}  // namespace riesz
