// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

class File;

/// A .npy file that several workers write, each its own boxes. One of them makes it, before others open it.
class NpyOutput {
 public:
  /// Makes a file of full size, with zeros. @throws Error as `File`, and as `npy_header`.
  static void make(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                   at::ScalarType type);
  /// Opens one that was made. @throws Error as `StoredArray`.
  explicit NpyOutput(const std::filesystem::path& path);

  /// Writes the elements of a box, (extents of the box), in the file's type. @throws Error as `File::write`.
  void write(const Box& box, const at::Tensor& elements) const;
  /// Waits until what was written is on the disk.
  void sync() const;

 private:
  std::shared_ptr<const File> file_;
  std::vector<std::int64_t> shape_;
  at::ScalarType type_ = at::kFloat;
  std::int64_t begin_ = 0;
};

/// Writes a whole tensor as a .npy file. Local. @throws Error as `NpyOutput`.
void write_npy(const std::filesystem::path& path, const at::Tensor& whole);

}  // namespace riesz
