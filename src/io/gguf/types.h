// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace riesz {

/// A type of a GGUF file's tensors: blocks of `elements` elements in `bytes` bytes. A block of 32 elements x
/// has d (fp16), for Q4_1 m (fp16), and the integers q:
///
///     F32, F16, BF16   a number each
///     Q8_0             x = q·d        q in 8 bits, −128 to 127
///     Q4_0             x = (q − 8)·d  q in 4 bits; the low halves of the 16 bytes first, then the high ones
///     Q4_1             x = q·d + m    the same
struct GgufType {
  std::uint32_t number;   ///< in the file
  const char* name;       ///< as ggml calls it
  std::int64_t elements;  ///< of a block
  std::int64_t bytes;     ///< of a block
};

/// The type of this number; nullptr unless its elements can be read here.
const GgufType* gguf_type(std::uint32_t number);

/// ggml's name of the type of this number, also one that is not read here, such as "Q4_K"; "number 99".
std::string gguf_type_name(std::uint32_t number);

/// The names of all types that are read, for messages.
std::string gguf_type_names();

/// The elements of `count` blocks, in fp32. @pre out has room for count · type.elements
void dequantise(const GgufType& type, const void* blocks, std::int64_t count, float* out);

}  // namespace riesz
