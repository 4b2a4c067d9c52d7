// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/vector.h"
#include "riesz/primitives/pending.h"
#include "riesz/primitives/primitive.h"

namespace riesz {

class Chain;

/// An operator: a linear map X → Y that has its adjoint Y* → X*. It is a composition of primitives, the first
/// step first. A cheap, shared, immutable value; building one is local.
///
/// The call is differentiable: the gradient ȳ in Y* goes back as A* ȳ in X*, by the same call, so it is
/// differentiable again. Without gradient nothing is recorded. With it, a communicating operator is one node
/// of autograd, and has its position in the current `Chain`.
class Operator {
 public:
  /// @throws Error unless the steps lead from X to Y: each starts where the one before ends, axes of one
  /// worker aside.
  Operator(Space domain, Space range, std::vector<Step> steps);
  static Operator identity(const Space& X) { return {X, X, {}}; }

  const Space& domain() const;
  const Space& range() const;
  const std::vector<Step>& steps() const;
  /// `communicates`: true if A or A* sends anything between workers. `sends`: true if A does.
  bool communicates() const;
  bool sends() const;
  /// The traffic of one call from the worker of `rank` of the domain's partition to others; bytes stay 0.
  /// Between hosts, workers that are in the range's partition alone may send too: they give on what came
  /// (`HostCopy`). Local.
  Traffic traffic(int rank) const;

  /// y = A x. Collective over the workers of both partitions, and of those between in a composition; others
  /// return immediately.
  /// @throws Error naming both spaces unless x is in the domain. @throws Error without a Chain, if the
  /// operator communicates and x requires a gradient.
  Vector operator()(const Vector& x) const;

  /// Starts y = A x; `wait` of the result gives y. Messages travel while the program computes in between.
  /// Collective over the same workers as a call.
  Pending start(const Vector& x) const;

  /// @throws Error naming both spaces unless x is in the domain.
  void check_domain(const Vector& x) const;
  /// True if a call with x would be recorded for gradients. Gradients must be enabled, and x floating or
  /// complex. In a chain every such x is recorded, for another worker's part of x may have a gradient;
  /// outside, only if x requires one.
  /// A constant is never recorded.
  bool recorded(const Vector& x) const { return !x.is_constant() && recorded(x.local()); }
  bool recorded(const at::Tensor& x) const;
  /// The current chain. @throws Error saying what to do if there is none.
  Chain& chain_for_gradients() const;

 private:
  struct Impl;
  explicit Operator(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend Operator adjoint(const Operator& A);

  std::shared_ptr<const Impl> impl_;
};

/// A*: Y* → X*, with ⟨A x, y⟩ = ⟨x, A* y⟩ for x in X, y in Y*. @post adjoint(adjoint(A)) == A
Operator adjoint(const Operator& A);

/// (A B) x = A (B x). @throws Error naming both spaces unless A.domain() == B.range().
Operator operator*(const Operator& A, const Operator& B);

/// True for the same spaces and the same steps. The order of two neighbouring steps does not count if they
/// act on different axes and commute. They do if one changes the placement of axes that neither end shards,
/// and the other does so too, or exchanges axes that shard before and after.
bool operator==(const Operator& A, const Operator& B);

/// Such as "ReduceScatter over tp: Partial -> Sharded(1), AllGather over dp: …", or "identity".
std::string to_string(const Operator& A);

namespace detail {

struct Applied {
  at::Tensor y;
  at::Tensor token;
};

/// Computes A x on bare tensors, and gives the chain's next token with it. Backward calls it.
Applied apply(const Operator& A, const at::Tensor& x, const at::Tensor& token);

}  // namespace detail
}  // namespace riesz
