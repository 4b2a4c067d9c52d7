// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// The fans of a weight: the number of inputs that an output sums, and of outputs that an input reaches. They
/// follow from the global shape, so they are the same at every layout.
struct Fans {
  std::int64_t in;
  std::int64_t out;

  bool operator==(const Fans&) const = default;
};

/// The fans of a weight of this shape in the contraction `spec`: `in` is the product of the extents whose
/// indices y lacks, `out` of those that x lacks. An index that all three have counts in neither: it makes
/// many layers beside each other. fans_of("bti,io->bto", {512, 2048}) is {512, 2048}. For
/// "bti,ihd->bthd" they are {i, h·d}.
/// @throws Error quoting spec and shape unless they have as many dims.
Fans fans_of(const std::string& spec, const std::vector<std::int64_t>& shape);

/// The fans of a weight of (out, in, and the extents of a convolution's window) by torch's rule: the window
/// counts in both.
/// @throws Error unless it has two dims or more.
Fans fans_of(const std::vector<std::int64_t>& shape);

/// The initial value of a parameter: a constant, or draws by (seed, the parameter's full name, global index).
/// It has the same bits at every layout.
struct Initial {
  enum class Law { normal, truncated_normal, uniform };

  double mean = 0;       ///< of the normal laws
  double deviation = 0;  ///< of the normal laws; 0 for a constant
  Law law = Law::normal;
  double least = 0;     ///< of the uniform and the truncated law
  double greatest = 0;  ///< likewise

  static Initial zeros() { return {0, 0}; }
  static Initial ones() { return {1, 0}; }
  static Initial constant(double c) { return {c, 0}; }
  static Initial normal(double deviation) { return {0, deviation}; }
  /// Between a and b.
  /// @throws Error unless a ≤ b.
  static Initial uniform(double a, double b);
  /// Normal draws on condition that they are between a and b.
  /// @throws Error unless deviation > 0 and a < b, and the law has a part there that fp64 can represent.
  static Initial truncated_normal(double mean, double deviation, double a, double b);

  // He et al., 1502.01852, as in torch.nn.init: `fan` is fans.in to keep the variance forward, fans.out to
  // keep it backward, of a weight before a leaky relu of this slope: 0 for relu, 1 for none. @throws Error
  // unless fan > 0.
  /// Between ±√(6/((1 + slope²)·fan)).
  static Initial kaiming_uniform(double fan, double slope = 0);
  /// Normal, of deviation √(2/((1 + slope²)·fan)).
  static Initial kaiming_normal(double fan, double slope = 0);

  // Glorot and Bengio, AISTATS 2010, as in torch.nn.init. @throws Error unless a fan is > 0.
  /// Between ±gain·√(6/(in + out)).
  static Initial xavier_uniform(const Fans& fans, double gain = 1);
  /// Normal, of deviation gain·√(2/(in + out)).
  static Initial xavier_normal(const Fans& fans, double gain = 1);
};

/// This worker's part of a vector of X that starts so, by (key, global index); fp64, on the CPU. Local.
at::Tensor initial_value(const Initial& initial, const Space& X, std::uint64_t key);
/// The same elements of these global row-major indices, flat, in their order.
at::Tensor initial_value(const Initial& initial, const Intervals& indices, std::uint64_t key);

}  // namespace riesz
