// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/check_input.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <string>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

/// The names of its steps: what else distinguishes them, such as which rows are selected, may differ between
/// workers.
std::string names_of(const Operator& A) {
  std::string text;
  for (const Step& step : A.steps()) text += (text.empty() ? "" : ", ") + step->name();
  return text;
}

}  // namespace

void detail::check_input(const Operator& A, const at::Tensor& x) {
  const Partition& P = A.domain().partition();
  const bool mine = P.active() || A.range().partition().active();
  if (mine && !P.real() && A.sends()) check_real(to_string(A), P);
  // The workers of a partition that is made up have nothing to compare.
  if (consistency_checks() && A.communicates() && P.real())
    check_alike("the input of " + to_string(A), A.domain(), x);
}

void detail::check_operand(std::string_view what, const Vector& x) {
  if (consistency_checks()) check_alike(std::string(what), x.space(), x.local());
}

void detail::check_constancy(std::string_view what, const Vector& x) {
  if (!consistency_checks() || !at::GradMode::is_enabled() || Chain::current() == nullptr) return;
  const Partition& P = x.space().partition();
  if (!P.active() || !P.real()) return;
  const at::Tensor mark = at::full({1}, x.is_constant() ? 1 : 0, at::kLong);
  check_alike(concat("the mark whether ", what, " is a constant, such as a frozen weight (1), or not (0)"),
              Space(P, {1}), mark);
}

void detail::check_constancy(const Operator& A, const Vector& x) {
  if (consistency_checks() && A.communicates()) check_constancy("the input of " + names_of(A), x);
}

}  // namespace riesz
