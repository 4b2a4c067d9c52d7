// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "riesz/io/safetensors/header.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// The tensors of one or several safetensors files. They stay in the files: a worker reads its own part of a
/// tensor and nothing else. Local; a cheap, shared handle.
///
///     const StoredTensors files("models/gpt2");
///     weight.fill([&](const at::Tensor& part) { files.read_part(weight.name(), weight.space(), part); });
class StoredTensors {
 public:
  /// Opens a file NAME.safetensors; all files that NAME.safetensors.index.json lists; or a folder that has
  /// one of the two, with `stem` for NAME. Reads the heads alone.
  /// @throws Error naming the file, tensor and rule where the format is broken, or where the index and the
  /// files differ. Where there is no such file, or only one in another format, such as PyTorch's *.bin, it
  /// says what to do.
  explicit StoredTensors(const std::filesystem::path& path, const std::string& stem = "model");

  /// By name.
  std::vector<StoredTensor> tensors() const;
  /// nullptr if there is none.
  const StoredTensor* find(const std::string& name) const;
  /// The metadata in the first file's header.
  const std::map<std::string, std::string>& metadata() const;
  /// The bytes of all tensors.
  std::int64_t bytes() const;

  /// Reads the elements of these intervals of a tensor, in row-major order, into `out`, which is flat and
  /// contiguous, in `out`'s type and on its device. Cost: the wanted bytes, and gaps of up to a page between
  /// them.
  /// @throws Error if there is no such tensor or the file is cut off.
  void read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const;

  /// Reads this worker's part of a tensor as a vector of X into `out`, as above. X's shape may be a view of
  /// the tensor's.
  /// @throws Error naming both shapes unless they have equally many elements. Also if X is Partial on an
  /// axis.
  void read_part(const std::string& name, const Space& X, const at::Tensor& out) const;
  /// The same, as such a vector.
  Vector read(const std::string& name, const Space& X, at::ScalarType type) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace riesz
