// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

class ArraySource;

/// An array of numbers in a file. It stays there: a worker reads the boxes that it holds, and no more bytes
/// than they have. Local; a cheap, shared handle.
///
///     const StoredArray fields("fields.npy");
///     Rows rows(fields.shape(), fields.type(), [=](const Box& box) { return fields.read(box); });
class StoredArray {
 public:
  /// Opens FILE.npy, or a dataset of an HDF5 file, written as FILE.h5:DATASET (or .hdf5). Reads its head
  /// alone.
  /// @throws Error naming the file and what is wrong with it. Also where HDF5's library is not there.
  explicit StoredArray(const std::string& place);

  const std::string& place() const { return place_; }
  const std::vector<std::int64_t>& shape() const;
  at::ScalarType type() const;
  /// The elements of a box of global indices, in the array's type, on the CPU.
  /// @throws Error naming the file where it cannot be read.
  at::Tensor read(const Box& box) const;
  /// A number that differs where shape or type do, or one of up to 64 rows of the last dim, from the first to
  /// the last of the array.
  std::uint64_t digest() const;

 private:
  std::string place_;
  std::shared_ptr<const ArraySource> source_;
};

}  // namespace riesz
