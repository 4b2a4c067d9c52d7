// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/tokens/documents.h"
#include "riesz/partition/partition.h"

namespace riesz {

struct TokenizeRequest {
  std::vector<std::filesystem::path> files;
  std::filesystem::path folder;            ///< where the tokens are written
  std::filesystem::path tokenizer;         ///< its file or folder; empty: one is learnt
  std::optional<std::int64_t> vocabulary;  ///< the tokens of one that is learnt
  DocumentOptions documents;
  std::uint64_t bytes = std::uint64_t{16} << 20;  ///< of text in a part, about
};

/// How far this worker is.
struct TokenizeProgress {
  std::size_t done, parts;  ///< of its own
  std::uint64_t bytes;      ///< of text that it has made tokens of
};

/// The result of all workers.
struct Tokenized {
  std::uint64_t tokens = 0, documents = 0, bytes = 0;
  std::size_t parts = 0, kept = 0;  ///< kept: parts of an earlier run that need not be made again
};

/// Tokenizes files. The workers share out parts of whole documents, each written whole or not at all;
/// tokens.json, which `TokenSet` reads, comes last. The folder's files depend on the texts and the tokenizer
/// alone, not on the number of workers. A run that ended early is resumed; parts whose texts have changed
/// since are made again. The folder has the tokenizer's files too. Collective.
/// @throws Error naming a file that cannot be read, or where the folder has tokens of another tokenizer. Also
/// unless exactly one of a tokenizer and a vocabulary to learn is given.
Tokenized tokenize(const Partition& workers, const TokenizeRequest& request,
                   const std::function<void(const TokenizeProgress&)>& progress = {});

}  // namespace riesz
