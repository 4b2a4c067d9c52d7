// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/pointwise/formula.h"
#include "riesz/partition/vector.h"

namespace riesz {

namespace detail {

/// f of vectors of one space.
Vector pointwise_of(const Formula& formula, const std::vector<Vector>& xs);
/// f of x and of vectors with some of its indices: "btc,c" of x and b.
Vector pointwise_of(const Formula& formula, const std::string& indices, const std::vector<Vector>& xs);

}  // namespace detail

/// y = f(x₁, …, xₙ), element by element, of vectors of one space, n at most 8:
///
///     Vector y = pointwise("silu_times", [](auto g, auto u) { return g * sigmoid(g) * u; }, g, u);
///
/// f is one formula for an element, written with + − · /, comparisons and `where`, exp, log, tanh, erf,
/// normal_cdf, sqrt, rsqrt, abs, max, min, square, pow and sigmoid. It is compiled for lanes of floats, and
/// with dual numbers for its gradients. So a value is one pass over memory, and all gradients are another.
/// Constants that f captures have no gradient. f depends only on its arguments and on these. Name each step
/// by `const auto`, and write a branch as `where`.
///
/// y has the first one's type; fp16 and bf16 are computed in fp32 and rounded once. For backward the xs alone
/// are saved. Elsewhere than on a CPU, and for second derivatives, f runs on LibTorch's operators; only the
/// library's activations have kernels there. Local.
/// Differentiable any number of times.
/// @throws Error if a vector is Partial, if spaces or devices differ, or if elements are not real
/// floating-point numbers.
template <typename F, typename... Vectors>
Vector pointwise(std::string name, F f, const Vector& x, const Vectors&... xs) {
  constexpr std::size_t kInputs = 1 + sizeof...(Vectors);
  static_assert(kInputs <= 8, "a point-wise formula has 8 inputs at most");
  return detail::pointwise_of(detail::formula<kInputs>(std::move(name), std::move(f)), {x, xs...});
}

/// The same with vectors that have some of x's indices, in their order, and are read beside x as `add` reads
/// them:
///
///     Vector y = pointwise("bias_relu", "btc,c", [](auto h, auto b) { return max(h + b, 0.0); }, h, b);
///
/// Their gradients are sums over the indices that they lack. A worker adds its terms in fp64, in an order
/// that the number of threads does not change. Collective over the partitions.
/// @throws Error also where `indices` are not one group for each vector, or do not fit (`add`).
template <typename F, typename... Vectors>
Vector pointwise(std::string name, const std::string& indices, F f, const Vector& x, const Vectors&... xs) {
  constexpr std::size_t kInputs = 1 + sizeof...(Vectors);
  static_assert(kInputs <= 8, "a point-wise formula has 8 inputs at most");
  return detail::pointwise_of(detail::formula<kInputs>(std::move(name), std::move(f)), indices, {x, xs...});
}

}  // namespace riesz
