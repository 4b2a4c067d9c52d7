// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/spatial/fourier.h"

namespace riesz::testing {

/// A transform of vectors that lie in any way.
struct FourierCase {
  bool real;
  bool back;
  Space X;
  std::vector<int> dims;
  FourierOptions options;

  Operator transform() const;
};

std::string to_string(const FourierCase& c);

/// By a seed, alike on all workers: 1 to 3 dims of any extents, some of them transformed, on some workers.
FourierCase random_fourier_case(std::uint64_t seed);

/// torch's transform of a global tensor; frequencies are kept by a list of them.
at::Tensor torch_fourier(const at::Tensor& x, const FourierCase& c, const std::vector<std::int64_t>& result);

/// The value and the gradient are torch's on one worker, the adjoint is right, and what is sent is what
/// `traffic` says, both ways.
void expect_fourier(const FourierCase& c);

}  // namespace riesz::testing
