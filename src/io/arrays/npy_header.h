// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/file.h"

namespace riesz {

/// What the head of a .npy file says (NumPy's NEP 1).
struct NpyHeader {
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< the first byte of the elements
};

/// Reads the head.
/// @throws Error naming the file where it is no .npy file or has not the size that it says. Also where its
/// elements are no numbers, are big-endian or lie in Fortran's order; it says how to write the file anew.
NpyHeader read_npy_header(const File& file);

/// The bytes before the elements of such a file. @throws Error naming a type that it has no name for.
std::string npy_header(const std::vector<std::int64_t>& shape, at::ScalarType type);

}  // namespace riesz
