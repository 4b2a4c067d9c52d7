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

/// A GGUF file, llama.cpp's format of models. Its tensors stay where they are: a worker reads the elements
/// that it wants, and no others but those of their blocks. Local; a cheap, shared handle.
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

  /// The elements of these intervals of a tensor, in row-major order, one after another into `out`, which is
  /// flat and contiguous: dequantised to fp32, then in `out`'s type. Cost: the blocks that have elements that
  /// are wanted, gaps of up to a page between them, and two megabytes of memory.
  /// @throws Error if there is no such tensor or the file is cut off.
  void read(const std::string& name, const Intervals& wanted, const at::Tensor& out) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace riesz
