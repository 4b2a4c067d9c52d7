// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "riesz/io/gguf/header.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// A GGUF file, llama.cpp's format of models. Its tensors stay in the file: a worker reads only the blocks of
/// the elements that it wants. Local; a cheap, shared handle.
///
///     const GgufFile file("smollm2.gguf");
///     file.read("output_norm.weight", {{0, 576}}, out);
class GgufFile {
 public:
  /// Reads the head alone. @throws Error as `read_gguf_header`, or where the file cannot be read.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const;
  const GgufMetadata& metadata() const;
  /// In the order of their places.
  const std::vector<GgufTensor>& tensors() const;
  /// nullptr if there is none.
  const GgufTensor* find(const std::string& name) const;

  /// Reads the elements of these intervals of a tensor, in row-major order, into `out`, which is flat and
  /// contiguous. They are dequantised to fp32, then cast to `out`'s type. Cost: the blocks of wanted elements
  /// and gaps of up to a page between them. Memory: two megabytes.
  /// @throws Error if there is no such tensor or the file is cut off.
  void read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace riesz
