// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../primitives/random_spaces.h"
#include "riesz/nn/spatial/convolution.h"

namespace riesz::testing {

/// A convolution, and where its operands lie.
struct ConvCase {
  std::string spec;
  Space X, W, Y;
  ConvWindows windows;
};

std::string to_string(const ConvCase& c);

/// Any convolution of 1 to 3 spatial dims on a grid of some workers, its operands laid out in any way; by
/// the seed, alike on all workers.
ConvCase random_conv_case(std::uint64_t seed);

/// torch's on global tensors, with its own padding.
at::Tensor torch_conv(const at::Tensor& x, const at::Tensor& w, const ConvWindows& windows);

/// Are value and gradients those of torch on one worker, and is the traffic what the plan says? Collective.
void expect_torchs(const ConvCase& c);

/// Is the transposed convolution the adjoint, ⟨conv(x, w), y⟩ = ⟨x, transposed(y, w)⟩, and torch's?
void expect_transposed(const ConvCase& c);

}  // namespace riesz::testing
