// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

/// A tokenizer from its files: a tokenizer.json, or a folder that has one, or GPT-2's pair of vocab.json and
/// merges.txt (as OpenAI names them, encoder.json and vocab.bpe). The end of documents is the eos_token of a
/// tokenizer_config.json beside it. Local.
/// @throws Error naming the file, the place in it and the rule: what the file asks for and is not supported
/// is refused, never left out.
Tokenizer read_tokenizer(const std::filesystem::path& path);

/// Has the folder the files of one?
bool has_tokenizer(const std::filesystem::path& folder);

/// The files that `read_tokenizer` reads: what is copied when a tokenizer goes with a model or with tokens.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path);

/// Writes tokenizer.json, vocab.json, merges.txt and tokenizer_config.json into a folder, as Hugging Face's
/// libraries read them: a tokenizer with GPT-2's pattern. @throws Error where a file cannot be written.
void write_tokenizer(const TokenizerParts& parts, const std::filesystem::path& folder);

}  // namespace riesz
