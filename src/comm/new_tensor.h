// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// A new tensor of any values, as at::empty, which takes several times as long to make it in host memory.
at::Tensor new_tensor(at::IntArrayRef shape, const at::TensorOptions& options);

/// The same without elements, such as a chain's token.
inline at::Tensor no_elements(const at::TensorOptions& options) { return new_tensor({0}, options); }

}  // namespace riesz
