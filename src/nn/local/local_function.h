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
  /// Whether what was read, and what f keeps, live until backward: memory for reading x, and computing f,
  /// again.
  bool keep = false;
  /// The type of f's result; unless given, that of the first input with a gradient.
  std::optional<at::ScalarType> result_type = std::nullopt;
};

/// Any function of local tensors, with the natural maps around it: reads, a local function, a write,
///
///     y = W f(R₁ x₁, …, Rₙ xₙ)        Rᵢ: Xᵢ → Zᵢ,  W: Z → Y,  both between(·, ·)
///     x̄ᵢ = Rᵢ* (∂f/∂zᵢ)ᵀ W* ȳ         in Xᵢ*
///
/// f is written with at:: functions, as for one worker; torch's autograd knows its vector-Jacobian product.
/// So no backward is written, and all communication is that of the natural maps. As in a contraction each
/// axis of the grid is one of two kinds, in the computing spaces:
///   - all operands are Replicated: each worker computes the same;
///   - none is: inputs are Sharded, or Copied where each worker uses them differently;
///     the result is Sharded, or Partial where each worker computes a term, or Copied where all inputs are.
///
/// f is called where the computing spaces lie, also on empty pieces. It must be a function of its arguments
/// alone (random numbers by Philox), and not write to them; it must not communicate.
///
/// Inputs are saved as given: where a read moves something, backward reads again and calls f again; where
/// none does, it is torch's own recording. Inputs of integers have no gradient. A plan: made without
/// communication, and kept.
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

  /// y. Differentiable, again and again; collective over the partitions of all spaces.
  /// @throws Error naming both spaces unless each x is in its own; where f returns another shape or type.
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
