// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz::detail {

/// Reads Hugging Face's tokenizer.json, of the kind BPE over bytes: added tokens; a pre-tokenizer of Split,
/// Digits and, last, ByteLevel; model BPE; decoder ByteLevel; a template of special tokens.
/// @throws Error naming the file, the place and what is not supported: a normalizer, another kind of model,
/// dropout, …
TokenizerParts read_tokenizer_json(const std::string& path);

}  // namespace riesz::detail
