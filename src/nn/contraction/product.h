// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace riesz::detail {

/// c = Σ a·b over the indices that c does not have; each letter is a dim. Where no index is in all three, it
/// is one matrix product, and an operand whose indices lie together is a view. Else it is einsum. c may be a
/// permuted view. Cost: 2·(product of all extents) operations, and a copy of an operand whose indices do not
/// lie together.
at::Tensor local_product(const std::string& a_indices, const std::string& b_indices,
                         const std::string& c_indices, const at::Tensor& a, const at::Tensor& b);

/// c += the same, for a c that local_product made. No gradient is recorded.
void add_local_product(const std::string& a_indices, const std::string& b_indices,
                       const std::string& c_indices, const at::Tensor& a, const at::Tensor& b, at::Tensor& c);

/// x in the memory order of the product of a and b. So an x that is read twice is copied once.
at::Tensor laid_out_as_product(const std::string& a_indices, const std::string& b_indices,
                               const std::string& c_indices, const at::Tensor& c);

}  // namespace riesz::detail
