// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokens/mapped_file.h"

namespace riesz {
namespace {

Documents kind_of(const std::filesystem::path& file, const DocumentOptions& options) {
  if (options.kind != Documents::by_ending) return options.kind;
  return file.extension() == ".jsonl" ? Documents::jsonl : Documents::file;
}

/// The file in stretches of about so many bytes, each to the end of a line.
void cut_lines(const std::filesystem::path& file, std::string_view bytes, std::uint64_t about,
               std::vector<Stretch>& to) {
  for (std::uint64_t begin = 0; begin < bytes.size();) {
    std::uint64_t end = bytes.size();
    if (end - begin > about) {
      const std::size_t line = bytes.find('\n', begin + about - 1);
      if (line != std::string_view::npos) end = line + 1;
    }
    to.push_back({file, begin, end});
    begin = end;
  }
}

std::string member_of(const Stretch& stretch, std::string_view line, std::size_t at,
                      const std::string& name) {
  const auto where = [&] {
    return concat(in_quotes(stretch.file.string()), ", the line at byte ", stretch.begin + at);
  };
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  RIESZ_CHECK(!json.is_discarded(), where(), " is no JSON: ", in_quotes(line.substr(0, 60)));
  RIESZ_CHECK(json.is_object() && json.contains(name) && json[name].is_string(), where(), " has no text ",
              in_quotes(name));
  return json[name].get<std::string>();
}

}  // namespace

Documents documents_of(const std::string& word) {
  if (word == "auto") return Documents::by_ending;
  if (word == "file") return Documents::file;
  if (word == "line") return Documents::line;
  RIESZ_CHECK(word == "jsonl", "documents are ", in_quotes(word), "; they may be auto, file, line or jsonl");
  return Documents::jsonl;
}

std::vector<std::vector<Stretch>> portions(const std::vector<std::filesystem::path>& files,
                                           const DocumentOptions& options, std::uint64_t bytes) {
  std::vector<Stretch> stretches;
  for (const std::filesystem::path& file : files) {
    const MappedFile mapped(file);
    if (mapped.bytes().empty()) continue;
    if (kind_of(file, options) == Documents::file)
      stretches.push_back({file, 0, mapped.bytes().size()});
    else
      cut_lines(file, mapped.bytes(), bytes, stretches);
  }
  std::vector<std::vector<Stretch>> all;
  std::uint64_t last = bytes;  // as many bytes as the last one has
  for (const Stretch& stretch : stretches) {
    if (last >= bytes) {
      all.emplace_back();
      last = 0;
    }
    all.back().push_back(stretch);
    last += stretch.end - stretch.begin;
  }
  return all;
}

void each_document(const Stretch& stretch, std::string_view bytes, const DocumentOptions& options,
                   const std::function<void(std::string_view document)>& visit) {
  const Documents kind = kind_of(stretch.file, options);
  if (kind == Documents::file) return visit(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string_view line = bytes.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && kind == Documents::line) visit(line);
    if (!line.empty() && kind == Documents::jsonl) {
      const std::string text = member_of(stretch, line, at, options.member);
      if (!text.empty()) visit(text);
    }
    at = end + 1;
  }
}

}  // namespace riesz
