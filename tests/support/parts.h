// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::testing {

/// A tensor of every worker, each of its own shape, by rank, on every worker of the partition; nothing
/// outside it. Collective over the partition.
std::vector<at::Tensor> all_parts(const Partition& partition, const at::Tensor& mine);

/// The vector that an element of X means, as a global tensor: pieces together, terms added in rank order,
/// Replicated and Copied once. By the definition, without any operator. Local.
at::Tensor meant(const Space& X, const std::vector<at::Tensor>& parts);

/// The same, of all workers' parts. Collective over the partition.
at::Tensor meant(const Vector& x);

/// The global index, row-major, of each element that the worker of `rank` holds. Local.
at::Tensor global_indices(const Space& X, int rank);

/// Have all replicas (and with `equal_copies` all copies) the same bits, and every part its shape? Local.
bool belongs(const Space& X, const std::vector<at::Tensor>& parts, bool equal_copies);

/// Equal shapes, types and bits, with the signs of zeros and the payloads of NaNs.
bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// A tensor on one line, such as "(2, 2) [1, 2, 3, 4]", cut after 40 numbers, of which complex elements are
/// two; for messages.
std::string text_of(const at::Tensor& tensor);

}  // namespace riesz::testing

/// Expects the same bits.
#define EXPECT_SAME_BITS(a, b)                   \
  EXPECT_TRUE(::riesz::testing::same_bits(a, b)) \
      << #a " is " << ::riesz::testing::text_of(a) << "\n" #b " is " << ::riesz::testing::text_of(b)
