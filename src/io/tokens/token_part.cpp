// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/token_part.h"

#include <bit>
#include <cstdio>
#include <limits>
#include <string_view>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz::detail {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "files have the least byte first");

template <typename Number>
std::string_view as_bytes(const std::vector<Number>& numbers) {
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
    each_document(stretch, bytes_of(stretch), options, [&](std::string_view document) {
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
    sources.push_back({{"file", printable(stretch.file.string())},
                       {"begin", stretch.begin},
                       {"end", stretch.end},
                       {"digest", digest_of(bytes_of(stretch))}});
  }
  return {{"tokenizer", by.tokenizer},
          {"documents_are", static_cast<int>(by.documents.kind)},
          {"member", printable(by.documents.member)},
          {"sources", sources}};
}

std::optional<json> finished_part(const fs::path& folder, const std::string& name, const json& sources) {
  std::error_code error;
  if (!fs::exists(folder / (name + ".json"), error)) return std::nullopt;
  json head;
  try {
    head = read_json((folder / (name + ".json")).string());
  } catch (const Error&) {
    return std::nullopt;  // it is made anew
  }
  if (!head.is_object()) return std::nullopt;
  for (const auto& [key, value] : sources.items()) {
    if (!head.contains(key) || head[key] != value) return std::nullopt;
  }
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  for (const char* kind : {"tokens", "ends"}) {
    const fs::path path = folder / (name + "." + kind);
    const bool whole = head.contains("digest_of_" + std::string(kind)) && fs::exists(path, error) &&
                       digest_of(bytes_of_file(path, kAny)) == head["digest_of_" + std::string(kind)];
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
  const std::string_view tokens = two_bytes ? as_bytes(narrow) : as_bytes(encoded.ids);
  json head = sources;
  head["name"] = name;
  head["tokens"] = encoded.ids.size();
  head["documents"] = encoded.ends.size();
  head["digest_of_tokens"] = digest_of(tokens);
  head["digest_of_ends"] = digest_of(as_bytes(encoded.ends));
  remove_tree(folder / (name + ".json"));  // what has a head is whole
  sync_folder(folder);
  write_file(folder / (name + ".tokens"), tokens);
  write_file(folder / (name + ".ends"), as_bytes(encoded.ends));
  write_file(folder / (name + ".json"), head.dump(1) + "\n");
  return head;
}

}  // namespace riesz::detail
