// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/plain_tokenizer.h"

#include <string>

#include "riesz/io/tokenizer/byte_alphabet.h"

namespace riesz {

TokenizerParts plain_tokenizer(std::string_view bytes) {
  TokenizerParts parts;
  parts.origin = "single bytes";
  for (const char& byte : bytes)
    parts.vocabulary.emplace(in_byte_alphabet({&byte, 1}), static_cast<TokenId>(parts.vocabulary.size()));
  return parts;
}

TokenizerParts byte_tokenizer() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return plain_tokenizer(bytes);
}

}  // namespace riesz
