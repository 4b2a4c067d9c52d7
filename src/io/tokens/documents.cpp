// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/documents.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

Documents kind_of(const std::filesystem::path& file, const DocumentOptions& options) {
  if (options.kind != Documents::by_ending) return options.kind;
  return file.extension() == ".jsonl" ? Documents::jsonl : Documents::file;
}

/// Where the line ends that the byte at `from` lies in: behind its line break, or with the file.
std::uint64_t end_of_line(const File& file, std::uint64_t from, std::uint64_t size) {
  std::string some;
  for (std::uint64_t at = from; at < size; at += some.size()) {
    some.resize(std::min<std::uint64_t>(size - at, std::uint64_t{64} << 10));
    file.read(static_cast<std::int64_t>(at), some.data(), static_cast<std::int64_t>(some.size()));
    if (const std::size_t line = some.find('\n'); line != std::string::npos) return at + line + 1;
  }
  return size;
}

/// The file in stretches of about so many bytes, each to the end of a line.
void cut_lines(const File& file, std::uint64_t size, std::uint64_t about, std::vector<Stretch>& to) {
  for (std::uint64_t begin = 0; begin < size;) {
    const std::uint64_t end = size - begin > about ? end_of_line(file, begin + about - 1, size) : size;
    to.push_back({file.path(), begin, end});
    begin = end;
  }
}

std::string member_of(const Stretch& stretch, std::string_view line, std::size_t at,
                      const std::string& name) {
  const auto where = [&] {
    return concat(in_quotes(stretch.file.string()), ", the line at byte ", stretch.begin + at);
  };
  const Json json = json_of(where(), line);
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
    const File opened = File::to_read(file);
    const auto size = static_cast<std::uint64_t>(opened.bytes());
    if (size == 0) continue;
    if (kind_of(file, options) == Documents::file)
      stretches.push_back({file, 0, size});
    else
      cut_lines(opened, size, bytes, stretches);
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

std::string bytes_of(const Stretch& stretch) {
  std::string bytes(stretch.end - stretch.begin, ' ');
  File::to_read(stretch.file)
      .read(static_cast<std::int64_t>(stretch.begin), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  return bytes;
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
