// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/check_input.h"

#include "riesz/comm/checks.h"
#include "riesz/partition/alike.h"

namespace riesz {

void detail::check_input(const Operator& A, const at::Tensor& x) {
  const Partition& P = A.domain().partition();
  const bool mine = P.active() || A.range().partition().active();
  if (mine && !P.real() && A.moves()) check_real(to_string(A), P);
  if (checks() && A.communicates()) check_alike("the input of " + to_string(A), A.domain(), x);
}

void detail::check_operand(const std::string& what, const Vector& x) {
  if (checks()) check_alike(what, x.space(), x.local());
}

}  // namespace riesz
