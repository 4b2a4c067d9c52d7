// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::testing {

/// A safetensors file: the head's length, the head as it is given, and data.
inline std::string safetensors_bytes(const std::string& head, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((head.size() >> (8 * i)) & 0xff);
  return bytes + head + data;
}

/// Of two tensors: a of two fp32 numbers, b of three bytes.
inline const char* kTwoTensors =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3,1],"data_offsets":[8,11]}})";

}  // namespace riesz::testing
