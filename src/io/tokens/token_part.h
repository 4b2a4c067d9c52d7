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

/// The name of a part's files, such as "part-00012".
std::string part_name(std::size_t number);

/// The tokenizer and settings that made a folder of tokens; parts that were made by another are made anew.
struct MadeBy {
  std::uint64_t tokenizer;  ///< the digest of its files
  DocumentOptions documents;
};

/// The sources in a part's head, NAME.json: files, bytes and digests of these stretches as they are now,
/// without the tokens themselves.
nlohmann::json sources_of(const std::vector<Stretch>& portion, const MadeBy& by);

/// The head of a part that is there, whole, and made of these sources; else nothing.
std::optional<nlohmann::json> finished_part(const std::filesystem::path& folder, const std::string& name,
                                            const nlohmann::json& sources);

/// Makes a part. NAME.tokens has the numbers of tokens in 2 or 4 bytes each, least byte first. NAME.ends has,
/// in 8 bytes, after how many tokens each document ends. The head comes last, so a part with a head is whole.
/// Each document has the template's tokens and the end of documents. @returns the head.
nlohmann::json make_part(const std::filesystem::path& folder, const std::string& name,
                         const std::vector<Stretch>& portion, const Tokenizer& tokenizer,
                         const DocumentOptions& documents, const nlohmann::json& sources);

}  // namespace riesz::detail
