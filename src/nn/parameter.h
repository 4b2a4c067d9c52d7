// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/nn/initial.h"
#include "riesz/partition/vector.h"

namespace riesz {

struct ParameterOptions {
  Initial initial = Initial::zeros();
  bool decays = false;  ///< does weight decay apply?
  std::vector<std::int64_t> shape =
      {};  ///< as published in checkpoints, of which the space is a view; else the space's
};

/// A trained vector and where it is stored: a shared handle. Its space may be a view of the published shape,
/// such as GPT-2's c_attn.weight of (C, 3C) as (C, 3, heads, head width), so that a split by heads is a split
/// of one dim.
class Parameter {
 public:
  /// @throws Error naming both shapes unless the space's elements are those of options.shape.
  Parameter(std::string name, const Space& space, const ParameterOptions& options);

  /// The full name once a Module has it, such as "transformer.h.0.attn.c_attn.weight".
  const std::string& name() const;
  void set_name(std::string name);
  const Space& space() const;
  const std::vector<std::int64_t>& shape() const;
  bool decays() const;
  /// Elements of the vector meant, counted once whatever the layout.
  std::int64_t numel() const;

  /// Draws the initial value; local, the same bits for a global index at every layout. Drops a gradient.
  void initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU);
  /// The value as stored; a leaf. @throws Error before `initialise`.
  Vector value() const;
  /// Its gradient, a vector of the dual space; zero if none has reached it.
  Vector gradient() const;
  void zero_gradient();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
