// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "riesz/nn/pointwise/formula.h"

namespace riesz::detail {

/// May strips read this: values of a real type in a CPU's memory?
bool is_in_memory(const at::Tensor& x);

/// y of the shape and type of the first input, against which the others are broadcast. fp16 and bf16 are
/// computed in fp32 and rounded once. With an fp64 among the inputs all is in fp64. One pass, in LibTorch's
/// threads. A strip is up to 1,024 elements of one row, which the compiled formula takes in one call. It is
/// converted in the first cache where it does not lie dense.
/// @pre is_in_memory of all
at::Tensor strips_of_value(const Formula& formula, const std::vector<at::Tensor>& inputs);

/// The gradient of each input that is wanted, in its shape and type, in one pass over the inputs and ȳ. A
/// broadcast input's is a sum in fp64. Terms are added in an order that shapes alone decide.
/// A gradient that is not wanted is undefined. `reuse_ybar`: if true, the first gradient with ȳ's memory
/// layout overwrites ȳ. The caller must be its only holder. @pre is_in_memory of all inputs and ȳ
std::vector<at::Tensor> strips_of_gradients(const Formula& formula, const std::vector<at::Tensor>& inputs,
                                            const at::Tensor& ybar, const std::vector<bool>& wanted,
                                            bool reuse_ybar = false);

/// The number of elements that a thread takes at once. For tests: smaller, so that few elements are many
/// parts.
extern std::int64_t elements_of_part;

}  // namespace riesz::detail
