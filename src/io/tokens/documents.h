// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// The unit of a document: a whole file, each line that is not empty, or a member of each line's JSON. By
/// default it is the member for *.jsonl, and the whole file for others.
enum class Documents { by_ending, file, line, jsonl };

/// "auto", "file", "line" or "jsonl".
/// @throws Error naming the word.
Documents documents_of(const std::string& word);

struct DocumentOptions {
  Documents kind = Documents::by_ending;
  std::string member = "text";  ///< of each line's JSON
};

/// Bytes [begin, end) of a file: whole documents.
struct Stretch {
  std::filesystem::path file;
  std::uint64_t begin;
  std::uint64_t end;

  bool operator==(const Stretch&) const = default;
};

/// Cuts files into portions of about `bytes`, each of whole documents, which one worker tokenizes at once.
/// The portions depend on the files alone, so any number of workers makes the same ones. Local.
/// @throws Error naming a file that cannot be read.
std::vector<std::vector<Stretch>> portions(const std::vector<std::filesystem::path>& files,
                                           const DocumentOptions& options,
                                           std::uint64_t bytes = std::uint64_t{16} << 20);

/// The bytes of a stretch. @throws Error naming the file where it cannot be read or has become shorter.
std::string bytes_of(const Stretch& stretch);

/// Visits the documents of a stretch's bytes, in order; none is empty.
/// @throws Error naming the file and the place of a line that is no JSON or has no such member.
void each_document(const Stretch& stretch, std::string_view bytes, const DocumentOptions& options,
                   const std::function<void(std::string_view document)>& visit);

}  // namespace riesz
