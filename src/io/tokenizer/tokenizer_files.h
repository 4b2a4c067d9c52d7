// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

/// Reads a tokenizer from a tokenizer.json, or from a folder that has one, or from GPT-2's pair of vocab.json
/// and merges.txt (OpenAI's names are encoder.json and vocab.bpe). The end of documents is the eos_token of a
/// tokenizer_config.json beside it. Local.
/// @throws Error naming the file, the place in it and the rule. Whatever the file asks for and is not
/// supported is an Error, never ignored.
Tokenizer read_tokenizer(const std::filesystem::path& path);

/// Has the folder a tokenizer's files?
bool has_tokenizer(const std::filesystem::path& folder);

/// The files that `read_tokenizer` reads. They are copied when a tokenizer goes with a model or with tokens.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path);

/// The texts of tokenizer.json, vocab.json, merges.txt and tokenizer_config.json, by these names, as Hugging
/// Face's libraries read them: a tokenizer with GPT-2's pattern.
std::map<std::string, std::string> tokenizer_file_texts(const TokenizerParts& parts);

/// Writes them into a folder. @throws Error where a file cannot be written.
void write_tokenizer(const TokenizerParts& parts, const std::filesystem::path& folder);

}  // namespace riesz
