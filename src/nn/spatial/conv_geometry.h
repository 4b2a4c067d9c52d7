// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/random/initial.h"
#include "riesz/nn/spatial/convolution.h"
#include "riesz/nn/spatial/windowed_plan.h"

namespace riesz::detail {

// The geometry of a convolution: which inputs its outputs read. Errors begin with `whose`, such as "Conv
// model.stem".

/// A convolution's letters and numbers, in torch's order (batch, channels, spatial dims).
struct ConvGeometry {
  Indices indices;  ///< for the plan: '-' for the kernel, and one letter for the channels of groups
  std::vector<Window> windows;  ///< of each spatial dim
  /// The spatial dims, without those whose outputs read their own input alone; with groups also the channels.
  std::vector<WindowedDim> dims;
  std::vector<std::int64_t> outputs;  ///< of each spatial dim
  std::int64_t groups;
  std::int64_t channels_out;
};

/// @throws Error where spec, X, weight and windows do not fit one another.
ConvGeometry conv_geometry(const std::string& whose, const std::string& spec, const Space& X,
                           const std::vector<std::int64_t>& weight_shape, const ConvWindows& windows);

/// @throws Error unless the groups divide both numbers of channels.
void check_groups(const std::string& whose, std::int64_t groups, std::int64_t in, std::int64_t out);

/// torch's for a weight of this shape, unless one is given.
Initial conv_initial(const std::optional<Initial>& given, const std::vector<std::int64_t>& weight_shape);

/// One number for each of `dims`. @throws Error naming `what` unless there is one, or as many.
std::vector<std::int64_t> for_each_dim(const std::string& whose, const char* what,
                                       const std::vector<std::int64_t>& numbers, std::size_t dims);

/// The windows of each spatial dim, with the padding of each side.
/// @throws Error where padding does not fit the inputs, or a window has no place in them.
std::vector<Window> windows_of(const std::string& whose, const std::vector<std::int64_t>& kernel,
                               const std::vector<std::int64_t>& inputs,
                               const std::vector<std::int64_t>& stride,
                               const std::vector<std::int64_t>& dilation, const Padding& padding);

/// @throws Error if padding by this mode, so much on one side, has not the n inputs of a spatial dim that it
/// needs.
void check_padding(const std::string& whose, PaddingMode mode, std::int64_t padding, std::int64_t n,
                   std::size_t dim);

/// @throws Error if the window has no place in the n inputs of a spatial dim.
void check_fits(const std::string& whose, const Window& window, std::int64_t n, std::size_t dim);

}  // namespace riesz::detail
