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

/// A convolution's letters and numbers, in the order (batch, channels, space…) of torch.
struct ConvForm {
  Indices indices;  ///< for the plan: '-' for the kernel, and one letter for the channels of groups
  std::vector<Window> windows;    ///< of each dim of space
  std::vector<WindowedDim> dims;  ///< of space and, with groups, the channels; not where 1 input is 1 output
  std::vector<std::int64_t> outputs;  ///< of each dim of space
  std::int64_t groups;
  std::int64_t channels_out;
};

/// The form, with everything checked that does not depend on Y. @throws Error on behalf of `whose`.
ConvForm conv_form(const std::string& whose, const std::string& spec, const Space& X,
                   const std::vector<std::int64_t>& weight_shape, const ConvWindows& windows);

/// Y with every dim bound. @throws Error on behalf of `whose` where an extent of Y is another.
Space bound(const std::string& whose, const ConvForm& form, const Space& X, const Space& Y);

/// torch's for a weight of this shape, unless one is given.
Initial conv_initial(const std::optional<Initial>& given, const std::vector<std::int64_t>& weight_shape);

/// One number for each of `dims`. @throws Error naming `what` on behalf of `whose` unless there is one, or
/// as many.
std::vector<std::int64_t> for_each_dim(const std::string& whose, const char* what,
                                       const std::vector<std::int64_t>& numbers, std::size_t dims);

/// The windows of each dim of space, with the padding of each side.
/// @throws Error on behalf of `whose` where padding does not fit n inputs, or a window has no place in them.
std::vector<Window> windows_of(const std::string& whose, const std::vector<std::int64_t>& kernel,
                               const std::vector<std::int64_t>& inputs,
                               const std::vector<std::int64_t>& stride,
                               const std::vector<std::int64_t>& dilation, const Padding& padding);

/// @throws Error on behalf of `whose` if the window has no place in the n inputs of a dim of space.
void check_fits(const std::string& whose, const Window& window, std::int64_t n, std::size_t dim);

}  // namespace riesz::detail
