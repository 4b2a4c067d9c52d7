// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/check_input.h"

#include <string>

#include "riesz/comm/consistency_checks.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {

void detail::check_input(const Operator& A, const at::Tensor& x) {
  const Partition& P = A.domain().partition();
  const bool mine = P.active() || A.range().partition().active();
  if (mine && !P.real() && A.sends()) check_real(to_string(A), P);
  if (consistency_checks() && A.communicates()) check_alike("the input of " + to_string(A), A.domain(), x);
}

void detail::check_operand(std::string_view what, const Vector& x) {
  if (consistency_checks()) check_alike(std::string(what), x.space(), x.local());
}

}  // namespace riesz
