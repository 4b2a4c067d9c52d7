// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz {

/// Where an operand of a local function is stored, and where it is computed with.
struct LocalOperand {
  Space stored;
  Space computed;
};

struct LocalFunctionOptions {
  /// Keep what was read, and what f saves, until backward? That costs memory and saves a second read of x and
  /// a second call of f.
  bool keep = false;
  /// The type of f's result; unless given, that of the first input with a gradient.
  std::optional<at::ScalarType> result_type = std::nullopt;
};

/// Any function of local tensors as a function of vectors: reads by natural maps, a local function, a write,
///
///     y = W f(R₁ x₁, …, Rₙ xₙ)        Rᵢ: Xᵢ → Zᵢ,  W: Z → Y,  both between(·, ·)
///     x̄ᵢ = Rᵢ* (∂f/∂zᵢ)ᵀ W* ȳ         in Xᵢ*
///
/// f is written with at:: functions, as for one worker; torch's autograd knows its vector-Jacobian product.
/// So no backward is written by hand, and all communication is that of the natural maps. As in a contraction,
/// each axis of the grid is of one of two kinds in the computing spaces:
///   - all operands are Replicated: each worker computes the same;
///   - none is. Inputs are Sharded, or Copied where each worker uses them differently.
///     The result is Sharded, or Partial where each worker computes a term, or Copied where all inputs are.
///
/// f is called on the workers of the computing spaces, also on empty pieces. It must be a function of its
/// arguments alone (random numbers by Philox), must not write to them, and must not communicate.
///
/// Inputs are saved as given. Where a read moves something, backward reads again and calls f again; where
/// none does, backward uses torch's own recording. Inputs of integers have no gradient. A LocalFunction is a
/// plan: it is made without communication, and may be kept.
class LocalFunction {
 public:
  using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

  /// `name` is for errors.
  /// @throws Error naming axis and spaces where the computing spaces are not of these kinds, or lie on
  /// several grids.
  LocalFunction(std::string name, const std::vector<LocalOperand>& inputs, const LocalOperand& result,
                Function f, const LocalFunctionOptions& options = {});

  const std::string& name() const;
  const std::vector<Operator>& reads() const;
  const Operator& write() const;
  bool communicates() const;

  /// Computes y. Differentiable any number of times; collective over the partitions of all spaces.
  /// @throws Error naming both spaces unless each x is in its own; also where f returns another shape or
  /// type.
  Vector operator()(const std::vector<Vector>& xs) const;

  struct Plan;

 private:
  std::shared_ptr<const Plan> plan_;
};

/// An input and the space to compute with it in.
struct ReadAs {
  Vector x;
  Space computed;
};

/// LocalFunction(…)(xs), planned for this one call.
Vector apply_local(const std::string& name, const std::vector<ReadAs>& inputs, const LocalOperand& result,
                   const LocalFunction::Function& f, const LocalFunctionOptions& options = {});

}  // namespace riesz
