// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz::detail {

/// Reads Hugging Face's tokenizer.json for byte-level BPE. It may have added tokens and a template of special
/// tokens. The pre-tokenizer has Split, Digits and, last, ByteLevel. The model is BPE, the decoder ByteLevel.
/// @throws Error naming the file, the place and the unsupported thing: a normalizer, another kind of model,
/// dropout, …
TokenizerParts read_tokenizer_json(const std::string& path);

}  // namespace riesz::detail
