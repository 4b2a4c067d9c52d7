// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/gguf/metadata.h"
#include "riesz/io/gguf/types.h"
#include "riesz/partition/interval.h"

namespace riesz {

class File;

/// A tensor of a GGUF file: what it is, and where its blocks lie, in row-major order.
struct GgufTensor {
  std::string name;
  const GgufType* type = nullptr;
  /// Rows first, as everywhere in Riesz: the file's dims from the last to the first.
  std::vector<std::int64_t> shape;
  Interval place;  ///< in bytes from the file's first

  std::int64_t numel() const;
};

/// The head of a GGUF file, of version 2 or 3, little-endian:
///
///     "GGUF", version (4 bytes), tensors (8), metadata (8)
///     of each metadata: key, kind (4), value         a text: its length (8) and its bytes
///     of each tensor: name, dims (4), dims (8 each), type (4), where it begins in the data (8)
///
/// and the data, from the next multiple of the alignment on: general.alignment, else 32.
struct GgufHeader {
  std::uint32_t version = 0;
  std::int64_t alignment = 32;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  ///< in the order of their places
  std::int64_t data = 0;            ///< where the data begin, in bytes
};

/// The longest head that is read, in bytes. (A vocabulary of 256,000 tokens and its merges take about 10 MB.)
inline constexpr std::int64_t kLongestGgufHead = 100'000'000;

/// Reads a file's head, strictly by the format, and nothing behind it. Local.
/// @throws Error naming the file, the metadata or tensor, and the rule that it breaks. Each key and name must
/// occur once and not be too long; kinds and types must be known. The file must have room for the counts. A
/// tensor must have one to four dims of at least 1, and rows of whole blocks. The alignment must be a power
/// of two. Tensors must lie one behind the other, each at the next multiple of the alignment, with nothing
/// behind the last.
GgufHeader read_gguf_header(const File& file);

}  // namespace riesz
