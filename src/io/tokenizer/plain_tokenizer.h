// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

/// The parts of a tokenizer without merges, whose tokens are single bytes: the byte at place i is token i. It
/// has no special tokens. `write_tokenizer` writes it as Hugging Face's libraries read it.
TokenizerParts plain_tokenizer(std::string_view bytes);

/// The same of all 256 bytes: each is the token of its value.
TokenizerParts byte_tokenizer();

}  // namespace riesz
