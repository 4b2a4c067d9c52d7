// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Pictures of fields, (rows, height, width), as bytes of red, green and blue, (rows, height, width, 3).
// Local.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz {

/// From black for a row's least number to white for its greatest.
at::Tensor in_grey(const at::Tensor& fields);
/// From dark blue for the least number of the same row of `scale`, to yellow for its greatest. So two fields
/// in one scale can be compared.
at::Tensor in_colours(const at::Tensor& fields, const at::Tensor& scale);
/// A colour for each label; label 0 is black.
at::Tensor of_labels(const at::Tensor& labels);

/// One picture, (rows, columns, 3): below one another the rows, and of each row its pictures side by side.
/// Small ones are enlarged by whole factors.
at::Tensor rows_of_pictures(const std::vector<at::Tensor>& pictures);

}  // namespace riesz
