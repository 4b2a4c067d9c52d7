// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"
#include "riesz/io/tokens/documents.h"

namespace riesz::detail {

/// "part-00012": what the files of a part are named by.
std::string part_name(std::size_t number);

/// The tokenizer and settings that made a folder of tokens; parts that were made by another are made anew.
struct MadeBy {
  std::uint64_t tokenizer;  ///< the digest of its files
  DocumentOptions documents;
};

/// The text of a part's head, NAME.json, when it is made of these stretches as they are now, but for the
/// tokens themselves: files, bytes, digests.
nlohmann::json sources_of(const std::vector<Stretch>& portion, const MadeBy& by);

/// The head of a part that is there, whole, and made of these sources; else nothing.
std::optional<nlohmann::json> finished_part(const std::filesystem::path& folder, const std::string& name,
                                            const nlohmann::json& sources);

/// Makes a part: NAME.tokens, the numbers of tokens in 2 or 4 bytes each, least byte first; NAME.ends, after
/// how many tokens each document ends, in 8 bytes; and last its head, so that what has one is whole. Each
/// document has the template's tokens and the end of documents. @returns the head.
nlohmann::json make_part(const std::filesystem::path& folder, const std::string& name,
                         const std::vector<Stretch>& portion, const Tokenizer& tokenizer,
                         const DocumentOptions& documents, const nlohmann::json& sources);

}  // namespace riesz::detail
