// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A tensor of a safetensors file: what it is, and where its elements lie, in row-major order.
struct StoredTensor {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> shape;
  Interval place;  ///< in bytes from the file's first

  std::int64_t numel() const;
  std::int64_t bytes() const;
};

/// The head of a safetensors file: its length in 8 bytes, then a JSON object of the tensors' types, shapes
/// and places, padded with spaces to a multiple of 8 bytes. The data follow.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their places
  std::map<std::string, std::string> metadata;
  std::int64_t bytes = 0;  ///< of the head; the data begin there

  std::int64_t file_bytes() const;
};

/// The longest head that the format allows, without the 8 bytes of its length.
inline constexpr std::int64_t kLongestHeader = 100'000'000;

/// Reads a file's beginning strictly by the format; `text` is the JSON with its padding.
/// @throws Error naming the file, the tensor and the rule that it breaks. The head must be an object with
/// each name once and known members and types. A shape's product must fit its place's size. Places must have
/// no overlaps and no holes, and fill the file.
SafetensorsHeader parse_header(const std::string& file, std::string_view text, std::int64_t file_bytes);

/// Gives tensors their places in one file, ordered by type and name, and the head its length. The result does
/// not depend on the given order. The bytes are those that the safetensors library writes.
SafetensorsHeader lay_out(std::vector<StoredTensor> tensors, std::map<std::string, std::string> metadata);

/// The head as bytes, with the length before it.
std::string header_bytes(const SafetensorsHeader& header);

}  // namespace riesz
