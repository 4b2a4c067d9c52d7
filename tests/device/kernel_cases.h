// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace riesz::testing {

/// What kernels make of some operands, on a device and on the CPU: of the stand-in's device in tests, and of
/// a GPU in bench/device_check.
struct KernelCase {
  std::string name;
  /// Texts of kernels' type names, such as "NormOfRow", and how many of them a run queues on a device.
  std::vector<std::pair<std::string, int>> queued;
  /// The results, on that device. Its operands are the same in each call.
  std::function<std::vector<at::Tensor>(at::Device)> run;
  /// By result: how far an element may be from the CPU's before it is rounded to its type, in fp64.
  /// Undefined, or no function: it has the CPU's bits. A bound follows from the formula: each operation
  /// rounds by u of its result. A sum rounds by D·u of its absolute terms, where no term is in more than D
  /// additions. Both devices round, so it is twice that. u is 2⁻²⁴ for what is computed in fp32, and 2⁻⁵³ in
  /// fp64.
  std::function<std::vector<at::Tensor>()> bounds = {};
};

/// Sizes of operands.
struct KernelSizes {
  std::int64_t rows, width;            ///< of a norm
  std::int64_t row_count, vocabulary;  ///< of logits
};
/// In one part of a row and in several, with a rest and without; the last ones take all threads of a block.
inline constexpr KernelSizes kKernelSizes[] = {{45, 37, 4, 2500}, {100, 768, 4, 20000}, {33, 4096, 4, 50257}};

// Of elements of a type: fp32, fp64, bf16 or fp16.
std::vector<KernelCase> sum_cases(at::ScalarType type);
std::vector<KernelCase> dropout_cases(at::ScalarType type);
std::vector<KernelCase> rotary_cases(at::ScalarType type);
/// None in fp64, which has no kernels of rows.
std::vector<KernelCase> norm_cases(at::ScalarType type, const KernelSizes& sizes);
std::vector<KernelCase> logit_cases(at::ScalarType type, const KernelSizes& sizes);
std::vector<KernelCase> formula_cases(at::ScalarType type);
/// All of them, of all sizes.
std::vector<KernelCase> kernel_cases(at::ScalarType type);

/// How a device's results differ from the CPU's; empty: nowhere by more than the bounds and one rounding each
/// to the result's type. Any NaN is as good as another.
std::string difference_from_cpu(const KernelCase& each, at::Device device);

/// u of a type in which numbers are stored: half the distance of neighbours, of their size.
double rounding_of(at::ScalarType type);
/// u of the type in which numbers of this type are computed.
double rounding_in(at::ScalarType type);

}  // namespace riesz::testing
