// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace riesz::detail {

/// The type of a point-wise formula F of N inputs, by whose name a device's library finds its kernels. The
/// library's own formulas are compiled there (`activation_formulas.h`). Others run there by LibTorch's
/// operators.
template <typename F, std::size_t N>
struct DeviceFormula {};

/// How numbers lie in memory.
enum class StoredAs : int { float32, float64, bfloat16, float16 };

/// What a kernel of a formula gets, whatever the formula. All numbers are of one type, and lie dense.
struct FormulaArguments {
  static constexpr std::size_t kMostInputs = 8, kMostBytes = 64;

  alignas(16) unsigned char formula[kMostBytes];  ///< its constants
  const void* in[kMostInputs];
  std::int64_t period[kMostInputs];  ///< element i of the result reads element i mod period
  const void* ybar;                  ///< of gradients
  void* out[kMostInputs];            ///< y; or each x̄, nullptr: not wanted. One may be ȳ
  bool wide[kMostInputs];            ///< x̄ is in the type in which it is computed
  StoredAs type;
};

}  // namespace riesz::detail
