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

/// A linear map X → Y that keeps its adjoint Y* → X*: a composition of primitives, the first step first. A
/// cheap, shared, immutable value; building one is local.
///
/// The call is differentiable: the gradient ȳ in Y* goes back as A* ȳ in X*, by the same call, so it is
/// differentiable again. Without gradient nothing is recorded; with it, a communicating operator is one node
/// and takes its place in the current `Chain`.
class Operator {
 public:
  /// @throws Error unless the steps lead from X to Y: each starts where the one before ends, axes of one
  /// worker aside.
  Operator(Space domain, Space range, std::vector<Step> steps);
  static Operator identity(const Space& X) { return {X, X, {}}; }

  const Space& domain() const;
  const Space& range() const;
  const std::vector<Step>& steps() const;
  /// Does A or A* move anything between workers? And A itself?
  bool communicates() const;
  bool moves() const;
  /// What a call makes leave the worker of `rank` of the domain's partition for others; bytes stay 0. Local.
  Traffic traffic(int rank) const;

  /// y = A x. Collective over the workers of both partitions, and of those that a composition leads through;
  /// others return at once.
  /// @throws Error naming both spaces unless x is in the domain; without a Chain if x has a gradient.
  Vector operator()(const Vector& x) const;

  /// The same in two halves: communication goes on while the program computes, until `wait`. As collective as
  /// a call.
  Pending start(const Vector& x) const;

  /// @throws Error naming both spaces unless x is in the domain.
  void check_domain(const Vector& x) const;
  /// Would a call with x be recorded for gradients? Floating and complex numbers are where gradients are
  /// enabled, in a chain all of them, since another worker's part of x may have a gradient; outside, those
  /// that have one.
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

/// The same spaces and the same steps. Neighbouring steps that change how unsharded axes are placed, or
/// exchange among axes that shard before and after, act on different axes: they commute, and the order of a
/// change does not count.
bool operator==(const Operator& A, const Operator& B);

/// Such as "ReduceScatter over tp: Partial -> Sharded(1), AllGather over dp: …", or "identity".
std::string to_string(const Operator& A);

namespace detail {

struct Applied {
  at::Tensor y;
  at::Tensor token;
};

/// A x on bare tensors with the token handed on; what a backward calls.
Applied apply(const Operator& A, const at::Tensor& x, const at::Tensor& token);

}  // namespace detail
}  // namespace riesz
