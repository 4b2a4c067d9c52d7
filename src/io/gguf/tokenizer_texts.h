// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>

#include "riesz/io/gguf/metadata.h"

namespace riesz {

/// Makes a tokenizer's files from a GGUF file's metadata (tokenizer.ggml.…): texts by file name, as
/// `read_tokenizer` and Hugging Face's libraries read them. They are tokenizer.json; tokenizer_config.json,
/// with the special tokens and the chat template; and generation_config.json, with the tokens that begin, end
/// and fill up. Control and user-defined tokens become added tokens. It supports byte pairs
/// (tokenizer.ggml.model "gpt2"). Their tokenizer.ggml.pre must be "gpt-2", "smollm", or Llama 3's
/// "llama-bpe", "llama3" or "llama-v3".
/// @throws Error naming the file and the key where the tokenizer is of another kind, or its parts do not fit
/// together.
std::map<std::string, std::string> tokenizer_texts(const GgufMetadata& metadata);

}  // namespace riesz
