// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/adjoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

constexpr double kTolerance = 1e-12;

bool agrees(const Operator& A) {
  const Operator B = adjoint(A);
  const auto is_agree = [](const Step& step) { return step->name() == "Agree"; };
  return std::any_of(A.steps().begin(), A.steps().end(), is_agree) ||
         std::any_of(B.steps().begin(), B.steps().end(), is_agree);
}

double norm(const Vector& x) { return std::sqrt(pairing(x, Vector(dual(x.space()), x.local()))); }

/// What was computed on the workers of P alone, from the first of them, on all workers of `team`.
std::vector<double> told_by(const Partition& P, const Partition& team, const std::vector<double>& numbers) {
  const std::vector<at::Tensor> all = collect("testing", team, at::tensor(numbers, at::kDouble));
  int first = 0;
  while (team.world_rank(first) != P.world_rank(0)) ++first;
  const double* told = all[static_cast<std::size_t>(first)].const_data_ptr<double>();
  return {told, told + numbers.size()};
}

/// The factor by which one side is too large, in words if it is a whole number.
std::string hint(double ratio) {
  for (const double k : {ratio, 1 / ratio}) {
    if (std::abs(k) < 1.5 || std::abs(k - std::round(k)) > 1e-9 * std::abs(k)) continue;
    std::ostringstream text;
    text << ": A* y is " << std::round(k) << " times too " << (k == ratio ? "small" : "large")
         << "; is it scaled by a number of workers?";
    return text.str();
  }
  return ": a part is missing, counted twice, or in another worker's place";
}

std::string check_structure(const Operator& A) {
  const Operator B = adjoint(A);
  if (B.domain() != dual(A.range()) || B.range() != dual(A.domain())) {
    return "the adjoint leads from\n  " + to_string(B.domain()) + "\nto\n  " + to_string(B.range()) +
           "\nwhere it must lead from dual(range) to dual(domain),\n  " + to_string(dual(A.range())) +
           "\n  " + to_string(dual(A.domain()));
  }
  const Operator again = adjoint(Operator(B.domain(), B.range(), B.steps()));
  if (!(again == A)) return "A** is not A: it is " + to_string(again);
  return "";
}

std::string check_pullback(const Operator& A, const Vector& x, const Vector& y, const Vector& expected) {
  Chain chain;
  const Vector leaf(x.space(), x.local().clone().requires_grad_());
  const Vector found = pullback(A(leaf), y, {leaf}).front();
  if (same_bits(found.local(), expected.local())) return "";
  return "autograd's gradient " + text_of(found.local()) + "\nis not A* y = " + text_of(expected.local());
}

std::string check_pairing(const Operator& A, const Vector& x, const Vector& y, const Vector& Ax,
                          const Vector& By) {
  const Partition& P = A.domain().partition();
  const Partition& Q = A.range().partition();
  const Partition team = P | Q;
  const std::vector<double> left = told_by(Q, team, {pairing(Ax, y), norm(Ax), norm(y)});
  const double right = told_by(P, team, {pairing(x, By)}).front();
  if (std::abs(left[0] - right) <= kTolerance * left[1] * left[2]) return "";
  const double ratio = right == 0 ? std::numeric_limits<double>::infinity() : left[0] / right;
  std::ostringstream text;
  text.precision(17);
  text << "<A x, y> = " << left[0] << "\n<x, A* y> = " << right << "\nratio " << std::setprecision(6) << ratio
       << hint(ratio);
  return text.str();
}

}  // namespace

::testing::AssertionResult is_adjoint(const Operator& A, std::uint64_t seed) {
  if (!A.domain().partition().active() && !A.range().partition().active())
    return ::testing::AssertionSuccess();
  std::string wrong = check_structure(A);
  if (wrong.empty()) {
    const bool equal_copies = agrees(A);
    const Vector x = random_vector(A.domain(), 2 * seed, equal_copies);
    const Vector y = random_vector(dual(A.range()), 2 * seed + 1, equal_copies);
    const auto [Ax, By] = [&] {
      const at::NoGradGuard guard;
      return std::pair(A(x), adjoint(A)(y));
    }();
    wrong = check_pairing(A, x, y, Ax, By);
    const std::string recorded = check_pullback(A, x, y, By);
    if (wrong.empty()) wrong = recorded;
  }
  if (wrong.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << wrong << "\nA is " << to_string(A) << "\nfrom "
                                       << to_string(A.domain()) << "\nto " << to_string(A.range());
}

::testing::AssertionResult is_adjoint_predicate(const char* text, const Operator& A) {
  if (const ::testing::AssertionResult result = is_adjoint(A)) {
    return result;
  } else {
    return ::testing::AssertionFailure() << "the adjoint of " << text << " is wrong:\n" << result.message();
  }
}

}  // namespace riesz::testing
