// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>

#include "riesz/io/gguf/metadata.h"

namespace riesz {

/// The files of the tokenizer in a GGUF file's metadata (tokenizer.ggml.…), texts by name, as
/// `read_tokenizer` and Hugging Face's libraries read them. They are tokenizer.json; tokenizer_config.json,
/// with the special tokens and the chat template; and generation_config.json, with the tokens that begin, end
/// and fill up. Control and user-defined tokens are added tokens. Known are byte pairs (tokenizer.ggml.model
/// "gpt2") cut by tokenizer.ggml.pre: "gpt-2", "smollm", or Llama 3's, "llama-bpe", "llama3" or "llama-v3".
/// @throws Error naming the file and the key where it is of another kind, or does not fit together.
std::map<std::string, std::string> tokenizer_texts(const GgufMetadata& metadata);

}  // namespace riesz
