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

/// The tensors of one or several safetensors files, which stay where they are: a worker reads its own part of
/// one, and nothing else. Local; a cheap, shared handle.
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
  /// The metadata of a header beside its tensors, of the first file.
  const std::map<std::string, std::string>& metadata() const;
  /// The bytes of all tensors.
  std::int64_t bytes() const;

  /// The elements of these intervals of a tensor, in row-major order, one after another into `out`, which is
  /// flat and contiguous. In `out`'s type, on its device. Cost: the bytes that are wanted, and gaps of up to
  /// a page between them. @throws Error if there is no such tensor or the file is cut off.
  void read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const;

  /// This worker's part of a tensor as a vector of X, which may be a view of the tensor's shape, into `out`
  /// as above.
  /// @throws Error naming both shapes unless they have as many elements; or if X is Partial on an axis.
  void read_part(const std::string& name, const Space& X, const at::Tensor& out) const;
  /// The same, as such a vector.
  Vector read(const std::string& name, const Space& X, at::ScalarType type) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace riesz
