// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// Over how many inputs an output of a layer sums, and over how many outputs an input spreads: of the global
/// shape of its weight, so the same at every layout.
struct Fans {
  std::int64_t in;
  std::int64_t out;

  bool operator==(const Fans&) const = default;
};

/// Of a weight of this shape in the contraction `spec`: in is the product of its extents of indices that y
/// has not, out of those that x has not; an index of all three is of many layers beside each other and in
/// neither. fans_of("bti,io->bto", {512, 2048}) is {512, 2048}; of "bti,ihd->bthd", {in = i, out = h·d}.
/// @throws Error quoting spec and shape unless they have as many dims.
Fans fans_of(const std::string& spec, const std::vector<std::int64_t>& shape);

/// Of a weight of (out, in, and the extents of a convolution's window), by torch's rule: the window counts in
/// both.
/// @throws Error unless it has two dims or more.
Fans fans_of(const std::vector<std::int64_t>& shape);

}  // namespace riesz
