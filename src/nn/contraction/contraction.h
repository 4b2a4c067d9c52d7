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

/// Options of a contraction. They change its cost, and not the value and the gradients.
struct ContractionOptions {
  /// Number of panels that a gather or scatter is split into; one moves while another is multiplied. So two
  /// panels live at once, and not the whole (SUMMA's memory). Has no effect where nothing is gathered. More
  /// than one is an Error together with keep_x or keep_w. It also is one if several axes shard the index, or
  /// the index is not in one ordered interval a worker (`Split::zigzag`).
  int rounds = 1;
  /// Are x and w, once gathered for the value, kept for the gradients? That costs memory and saves their
  /// second gathering.
  bool keep_x = false;
  bool keep_w = false;
  /// Choose the parallel indices of least traffic instead of the rule's: for all axes jointly, over value and
  /// gradients.
  bool cheapest = false;
  /// Is w a parameter, a leaf on every worker? Then a DeferredGradients may put its gradient off.
  bool w_is_parameter = false;
  /// The type of the products. Operands of another type are cast before they move, so the compute type moves.
  /// For backward x is kept in the compute type, and w as given. Each gradient has its operand's own type.
  /// Workers sum the gradient of x in the compute type, and that of w in its own type where that is wider.
  /// Without a compute type the operands have one type, and so has all else.
  std::optional<at::ScalarType> compute_type = std::nullopt;
  /// The type of y; unless given, the compute type. Sums over workers have the wider of the two. Needs a
  /// compute type.
  std::optional<at::ScalarType> result_type = std::nullopt;

  bool operator==(const ContractionOptions&) const = default;
};

/// The operands that a gradient goes back to: those that are no constants (`Vector::is_constant`). A frozen
/// weight has none.
struct GradientsWanted {
  bool of_x = true;
  bool of_w = true;
};

/// The parallel index of each axis of the grid; '-' for none.
using Parallel = std::map<std::string, char>;

/// The trilinear form T(x, w, ȳ) = Σ x·w·ȳ over all indices, on X × W × Y*. A layer's value and its two
/// gradients are the three faces of this form:
///
///     y = ∂T/∂ȳ in Y        x̄ = ∂T/∂x in X*        w̄ = ∂T/∂w in W*
///
/// Each face reads the other two operands into their computing spaces, multiplies locally, and writes through
/// the adjoint of its own read. So all communication is three natural maps, and no backward is written by
/// hand.
///
/// Each axis of W's grid has one parallel index ℓ, or none. Placements alone decide it: (a) the index on
/// which both X and Y are sharded there, else (b) W's, (c) X's, (d) Y's, (e) none. An operand that has ℓ is
/// read Sharded on it; one without ℓ is read Copied (Y is written from Partial). With no ℓ all are read
/// Replicated. Where all three are Copied they stay Copied: each worker then computes for itself, and the
/// gradients are terms. Axes of one index are ordered as X, then W, then Y list them.
///
/// So an x that is Copied already (one gather for queries, keys and values) is read without moving. A Y that
/// is Partial (two branches that share one AllReduce) is written without moving.
///
/// Contractions that read the same x by the same operator, such as queries, keys and values, share one
/// gather. The first gathers x, and the others find it there while a handle of x lives. Backward gathers it
/// once more, sums their gradients in x and writes them once. Both live from the last contraction to the
/// first. They share within one recording of a chain, or without gradients within one call of the outermost
/// layer. Panels are not shared, nor reads between partitions, nor second derivatives.
///
/// A plan is a pure function of the spaces: made and priced without communication, also on simulated
/// partitions.
class Contraction {
 public:
  /// Plans `spec`, such as "bti,oi->bto", from X and W to Y. X and W bind Y's dims of any extent.
  /// @throws Error naming index and spaces where extents or units disagree, or where the options do not fit
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
  /// Traffic that leaves the worker of `rank` of W's partition in the value, and in the gradients that are
  /// `wanted`, with ȳ read once. Where several contractions share the read of x, only one of them sends it.
  Traffic forward_traffic(int rank) const;
  Traffic backward_traffic(int rank, GradientsWanted wanted = {}) const;

  /// Computes y = Σ x·w in Y. Differentiable any number of times; collective over the operands' partitions.
  /// Saves its operands as given, so gathered values do not live until backward unless the options keep them.
  /// @throws Error naming both spaces unless x is in X and w in W. Also naming both types where they differ
  /// without a compute type.
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

/// Such as "btf,cf->btc on tp: multiply, scatter-sum y over t (4,608 elements, 3 messages)": the value as the
/// first worker computes it. On several axes each move names its own.
std::string to_string(const Contraction& contraction);

/// Contraction(spec, x.space(), w.space(), Y, options)(x, w). The last 64 plans are kept, and threads share
/// them.
Vector contract(const std::string& spec, const Vector& x, const Vector& w, const Space& Y,
                const ContractionOptions& options = {});

}  // namespace riesz
