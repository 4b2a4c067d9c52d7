// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace riesz::detail {

/// c = Σ a·b over the indices that c does not have, a letter a dim. It is one matrix product where no index
/// stands in all three, whose operands are views where their indices lie together. Else it is einsum. c may
/// be a permuted view. Cost: 2·(product of all extents) operations; a copy of an operand whose indices do not
/// lie together.
at::Tensor local_product(const std::string& a_indices, const std::string& b_indices,
                         const std::string& c_indices, const at::Tensor& a, const at::Tensor& b);

/// c += the same, for a c that local_product made. No gradient is recorded.
void add_local_product(const std::string& a_indices, const std::string& b_indices,
                       const std::string& c_indices, const at::Tensor& a, const at::Tensor& b, at::Tensor& c);

/// x in the memory order in which the product of a and b is made: where it is read twice, it is copied once.
at::Tensor laid_out_as_product(const std::string& a_indices, const std::string& b_indices,
                               const std::string& c_indices, const at::Tensor& c);

}  // namespace riesz::detail
