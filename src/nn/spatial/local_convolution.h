// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/nn/spatial/conv_geometry.h"

namespace riesz::detail {

/// What this worker computes of a convolution, by torch: slabs of its outputs, each by one call of torch's.
struct LocalConvolution {
  std::vector<std::int64_t> stride, dilation;
  std::int64_t group_outputs = 0;  ///< channels out per group; 0 without groups
  std::vector<std::int64_t> dims;  ///< those that `slabs` are of
  std::vector<std::vector<Slab>> slabs;
  std::vector<std::int64_t> x_shape, y_shape;  ///< of this worker's tensors
};

LocalConvolution local_convolution(const ConvGeometry& geometry, const WindowedPlan& plan);

/// This worker's y of its x and w: a term, where input channels are spread over workers.
at::Tensor value_of(const LocalConvolution& local, const at::Tensor& x, const at::Tensor& w);

/// This worker's terms of x̄, of its y and w: the transpose of `value_of` in x.
at::Tensor transposed_of(const LocalConvolution& local, const at::Tensor& y, const at::Tensor& w);

}  // namespace riesz::detail
