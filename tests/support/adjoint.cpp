// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/adjoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

#include "riesz/comm/consistency_checks.h"
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

/// This worker's part of the pairing of two vectors of one shape: Replicated axes count once, outsiders not
/// at all.
c10::complex<double> my_pairing(const Vector& x, const at::Tensor& y) {
  const Partition& P = x.space().partition();
  if (!P.active() || x.space().leader(P.rank(), {Placement::Replicated}) != P.rank()) return 0;
  return x.local().conj().mul(y).sum().item<c10::complex<double>>();
}

struct Sums {
  std::complex<double> left;   // <A x, y>
  std::complex<double> right;  // <x, A* y>
  double Ax_squared;
  double y_squared;
};

/// Summed in rank order over the workers of all partitions, the same on all of them.
Sums sums_of(const Partition& team, const Vector& x, const Vector& y, const Vector& Ax, const Vector& By) {
  const at::Tensor mine =
      at::tensor(std::vector<c10::complex<double>>{my_pairing(Ax, y.local()), my_pairing(x, By.local()),
                                                   my_pairing(Ax, Ax.local()), my_pairing(y, y.local())});
  at::Tensor sum = at::zeros_like(mine);
  for (const at::Tensor& term : collect("testing", team, mine)) sum.add_(term);
  const auto* s = sum.const_data_ptr<c10::complex<double>>();
  return {std::complex<double>(s[0]), std::complex<double>(s[1]), s[2].real(), s[3].real()};
}

/// The factor by which one side is too large, in words if it is an integer.
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

std::string check_pairing(const Partition& team, const Vector& x, const Vector& y, const Vector& Ax,
                          const Vector& By) {
  const Sums sums = sums_of(team, x, y, Ax, By);
  const double scale = std::sqrt(sums.Ax_squared) * std::sqrt(sums.y_squared);
  if (std::abs(sums.left - sums.right) <= kTolerance * scale) return "";
  const bool real = sums.left.imag() == 0 && sums.right.imag() == 0;
  const std::complex<double> quotient = sums.left / sums.right;
  const double ratio = sums.right == 0. ? std::numeric_limits<double>::infinity() : quotient.real();
  std::ostringstream text;
  text.precision(17);
  if (!real) {
    text << "<A x, y> = " << sums.left << "\n<x, A* y> = " << sums.right << "\nratio " << std::setprecision(6)
         << quotient;
    return text.str();
  }
  text << "<A x, y> = " << sums.left.real() << "\n<x, A* y> = " << sums.right.real() << "\nratio "
       << std::setprecision(6) << ratio << hint(ratio);
  return text.str();
}

}  // namespace

Partition workers_of(const Operator& A) {
  Partition workers = A.domain().partition() | A.range().partition();
  for (const Step& step : A.steps()) {
    workers = workers | step->domain().partition() | step->range().partition();
  }
  return workers;
}

::testing::AssertionResult is_adjoint(const Operator& A, std::uint64_t seed, at::ScalarType type) {
  if (!workers_of(A).active()) return ::testing::AssertionSuccess();
  std::string wrong = check_structure(A);
  if (wrong.empty()) {
    const bool equal_copies = agrees(A) || consistency_checks();
    const Vector x = random_vector(A.domain(), 2 * seed, equal_copies, type);
    const Vector y = random_vector(dual(A.range()), 2 * seed + 1, equal_copies, type);
    const auto [Ax, By] = [&] {
      const at::NoGradGuard guard;
      return std::pair(A(x), adjoint(A)(y));
    }();
    wrong = check_pairing(workers_of(A), x, y, Ax, By);
    const std::string recorded = check_pullback(A, x, y, By);
    if (wrong.empty()) wrong = recorded;
  }
  if (wrong.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << wrong << "\nA is " << to_string(A) << "\nfrom "
                                       << to_string(A.domain()) << "\nto " << to_string(A.range());
}

namespace {

::testing::AssertionResult named(const char* text, const ::testing::AssertionResult& result) {
  if (result) return result;
  return ::testing::AssertionFailure() << "the adjoint of " << text << " is wrong:\n" << result.message();
}

}  // namespace

::testing::AssertionResult is_adjoint_predicate(const char* text, const Operator& A) {
  return named(text, is_adjoint(A));
}

::testing::AssertionResult is_complex_adjoint_predicate(const char* text, const Operator& A) {
  return named(text, is_adjoint(A, 1, at::kComplexDouble));
}

}  // namespace riesz::testing
