// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/token_part.h"

#include <bit>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/tokens/mapped_file.h"
#include "riesz/partition/alike.h"

namespace riesz::detail {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "files have the least byte first");

template <typename Number>
std::string_view bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

json digest_of(std::string_view bytes) { return digest(bytes.data(), bytes.size()); }

struct Encoded {
  std::vector<TokenId> ids;
  std::vector<std::uint64_t> ends;
};

Encoded encode(const std::vector<Stretch>& portion, const Tokenizer& tokenizer,
               const DocumentOptions& options) {
  Encoded all;
  const std::optional<TokenId> end = tokenizer.end();
  for (const Stretch& stretch : portion) {
    const MappedFile file(stretch.file);
    const std::string_view bytes = file.bytes().substr(stretch.begin, stretch.end - stretch.begin);
    each_document(stretch, bytes, options, [&](std::string_view document) {
      tokenizer.encode(document, all.ids, {.with_template = true});
      if (end && (all.ids.empty() || all.ids.back() != *end)) all.ids.push_back(*end);
      all.ends.push_back(all.ids.size());
    });
  }
  return all;
}

}  // namespace

std::string part_name(std::size_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "part-%05zu", number);
  return name;
}

json sources_of(const std::vector<Stretch>& portion, const MadeBy& by) {
  json sources = json::array();
  for (const Stretch& stretch : portion) {
    const MappedFile file(stretch.file);
    RIESZ_CHECK(stretch.end <= file.bytes().size(), stretch.file, " became shorter while it was read");
    sources.push_back(
        {{"file", stretch.file.string()},
         {"begin", stretch.begin},
         {"end", stretch.end},
         {"digest", digest_of(file.bytes().substr(stretch.begin, stretch.end - stretch.begin))}});
  }
  return {{"tokenizer", by.tokenizer},
          {"documents_are", static_cast<int>(by.documents.kind)},
          {"member", by.documents.member},
          {"sources", sources}};
}

std::optional<json> finished_part(const fs::path& folder, const std::string& name, const json& sources) {
  std::ifstream file(folder / (name + ".json"), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  json head = json::parse(text, nullptr, false);
  if (!head.is_object()) return std::nullopt;
  for (const auto& [key, value] : sources.items()) {
    if (!head.contains(key) || head[key] != value) return std::nullopt;
  }
  for (const char* kind : {"tokens", "ends"}) {
    const fs::path path = folder / (name + "." + kind);
    std::error_code error;
    const bool whole = head.contains("digest_of_" + std::string(kind)) && fs::exists(path, error) &&
                       digest_of(MappedFile(path).bytes()) == head["digest_of_" + std::string(kind)];
    if (!whole) return std::nullopt;
  }
  return head;
}

json make_part(const fs::path& folder, const std::string& name, const std::vector<Stretch>& portion,
               const Tokenizer& tokenizer, const DocumentOptions& documents, const json& sources) {
  const Encoded encoded = encode(portion, tokenizer, documents);
  const bool two_bytes = tokenizer.size() <= 65536;
  const std::vector<std::uint16_t> narrow =
      two_bytes ? std::vector<std::uint16_t>(encoded.ids.begin(), encoded.ids.end())
                : std::vector<std::uint16_t>();
  const std::string_view tokens = two_bytes ? bytes_of(narrow) : bytes_of(encoded.ids);
  json head = sources;
  head["name"] = name;
  head["tokens"] = encoded.ids.size();
  head["documents"] = encoded.ends.size();
  head["digest_of_tokens"] = digest_of(tokens);
  head["digest_of_ends"] = digest_of(bytes_of(encoded.ends));
  fs::remove(folder / (name + ".json"));  // what has a head is whole
  write_file(folder / (name + ".tokens"), tokens);
  write_file(folder / (name + ".ends"), bytes_of(encoded.ends));
  write_file(folder / (name + ".json"), head.dump(1) + "\n");
  return head;
}

}  // namespace riesz::detail
