// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/io/arrays/stored_array.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// The arrays of data.inputs and data.targets.
struct FieldFiles {
  StoredArray inputs;   ///< (rows, height, width) or (rows, channels, height, width)
  StoredArray targets;  ///< of masks (rows, height, width)

  std::int64_t rows() const { return inputs.shape().front(); }
};

/// Opens both. Reads their heads alone; local.
/// @throws Error naming keys, files and shapes where the two do not fit each other, the task, or the model's
/// channels, rows and columns.
FieldFiles open_field_files(const Config& config);

/// The number of channels of an array of fields; 1 if it has no dim of channels.
std::int64_t channels_of(const StoredArray& fields);

/// The elements of a box of (rows, channels, height, width), in the array's type.
at::Tensor read_fields(const StoredArray& fields, const Box& box);

}  // namespace riesz
