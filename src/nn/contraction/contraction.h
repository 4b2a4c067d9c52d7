// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "riesz/primitives/operator.h"

namespace riesz {

namespace detail {
struct ContractionPlan;
}

/// Options of a contraction beyond its rule; the value and the gradients are the same.
struct ContractionOptions {
  /// Panels that what is gathered or scattered comes and goes in, one while another is multiplied, so that
  /// two panels live at once instead of the whole (SUMMA's memory). More than one throws
  /// together with keep_x or keep_w, or if the index is sharded by several axes or not in one ordered
  /// interval a worker (`Split::zigzag`). Where nothing is gathered it has no effect.
  int rounds = 1;
  /// Whether x and w, once gathered for the value, are kept for the gradients: memory for their second
  /// gathering.
  bool keep_x = false;
  bool keep_w = false;
  /// The parallel indices of least traffic instead of the rule's: of all axes jointly, over value and
  /// gradients.
  bool cheapest = false;
  /// Is w a parameter, a leaf on every worker, whose gradient a DeferredGradients may put off?
  bool w_is_parameter = false;
  /// The type of the products. Operands of another are cast before they move: so that type moves, and of x it
  /// is what is kept for backward; w is kept as given. Each gradient is of its operand's own type: that of x
  /// is summed over workers in the compute type, that of w in its own where that is wider. Unless given,
  /// operands are of one type, and so is all else.
  std::optional<at::ScalarType> compute_type = std::nullopt;
  /// The type of y; unless given, the compute type. Sums over workers are of the wider of the two. Only
  /// beside a compute type.
  std::optional<at::ScalarType> result_type = std::nullopt;

  bool operator==(const ContractionOptions&) const = default;
};

/// The parallel index of each axis of the grid; '-' for none.
using Parallel = std::map<std::string, char>;

/// The trilinear form T(x, w, ȳ) = Σ x·w·ȳ over all indices, on X × W × Y*, of which a layer's value and both
/// its gradients are the three faces:
///
///     y = ∂T/∂ȳ in Y        x̄ = ∂T/∂x in X*        w̄ = ∂T/∂w in W*
///
/// Each face reads the other two operands into their computing spaces, multiplies locally, and writes through
/// the adjoint of its own read. So all communication is three natural maps, and no backward is written.
///
/// On each axis of W's grid one index ℓ, or none, is the parallel one. Placements alone decide: (a) the index
/// on which both X and Y are sharded there, else (b) W's, (c) X's, (d) Y's, (e) none. An operand that has ℓ
/// is read Sharded on it, one without is read Copied (Y: written from Partial). With no ℓ all are read
/// Replicated. Where all three are Copied they stay so: each worker then computes for itself, and the
/// gradients are terms. Axes of one index are ordered as X, then W, then Y list them.
///
/// So an x that is Copied already (one gather for queries, keys and values) is read without moving. A Y that
/// is Partial (two branches that share one AllReduce) is written without moving.
///
/// Contractions that read one x by one operator, such as queries, keys and values, read it once. The first
/// gathers it, and while a handle of x lives the others find it there. In backward it is gathered once more,
/// and their gradients in x are summed and written once; both live from the last of them to the first. So it
/// is within one recording of a chain, and without gradients within one call of the outermost layer; not in
/// panels, nor between partitions. A second derivative is each one's own.
///
/// A plan is a pure function of the spaces: made and priced without communication, also on simulated
/// partitions.
class Contraction {
 public:
  /// The plan of `spec`, such as "bti,oi->bto", from X and W to Y, whose dims of any extent X and W bind.
  /// @throws Error naming index and spaces where extents or units disagree. Also where the options do not fit
  /// them.
  Contraction(const std::string& spec, const Space& X, const Space& W, const Space& Y,
              const ContractionOptions& options = {});

  /// The indices of x, w and y, a letter a dim: "bti", "oi" and "bto".
  const std::array<std::string, 3>& indices() const;
  /// Y, with every dim bound.
  const Space& range() const { return range_; }
  /// The parallel index of each axis of the grid that it is computed on; '-' for none.
  const Parallel& parallel() const;
  /// How operand 0 (x), 1 (w) or 2 (ȳ) is read: stored space → computing space.
  const Operator& read(int operand) const;
  /// Whether any face moves anything.
  bool communicates() const;
  /// What leaves the worker of `rank` of W's partition: in the value, and in both gradients with ȳ read once.
  /// Where several share the reading of x, only one of them sends it.
  Traffic forward_traffic(int rank) const;
  Traffic backward_traffic(int rank) const;

  /// y = Σ x·w in Y. Differentiable, again and again; collective over the operands' partitions. Saves its
  /// operands as given, so gathered values do not live until backward, unless the options keep them.
  /// @throws Error naming both spaces unless x is in X and w in W. Also naming both types unless they are of
  /// one.
  Vector operator()(const Vector& x, const Vector& w) const;

  /// The same form with its operands in another order: permuted(1, 2, 0) has the value x̄ = face of w and ȳ.
  /// It keeps nothing for gradients. `result`: the type of its value, where the form has a compute type.
  Contraction permuted(int first, int second, int third,
                       std::optional<at::ScalarType> result = std::nullopt) const;

  /// For the library's own sources.
  const detail::ContractionPlan& plan() const { return *plan_; }

 private:
  explicit Contraction(std::shared_ptr<const detail::ContractionPlan> plan);

  std::shared_ptr<const detail::ContractionPlan> plan_;
  Space range_;
};

/// Such as "bti,oi->bto on tp: gather x over t (3,145,728 elements, 3 messages), multiply, scatter-sum y over
/// t (1,024 elements, 3 messages)": the value as the first worker computes it. On several axes each move
/// names its own.
std::string to_string(const Contraction& contraction);

/// Contraction(spec, x.space(), w.space(), Y, options)(x, w), with the plan of one of the last 32 different
/// calls.
Vector contract(const std::string& spec, const Vector& x, const Vector& w, const Space& Y,
                const ContractionOptions& options = {});

}  // namespace riesz
