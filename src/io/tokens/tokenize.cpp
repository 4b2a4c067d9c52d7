// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/tokenize.h"

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/folder_lock.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_part.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;
using detail::MadeBy;
using nlohmann::json;

constexpr const char* kFormat = "riesz tokens 1";

TokenizerParts learn(const TokenizeRequest& request) {
  const auto pieces = portions(request.files, request.documents, request.bytes);
  const EachText each = [&](const auto& take) {
    for (const auto& portion : pieces) {
      for (const Stretch& stretch : portion)
        each_document(stretch, bytes_of(stretch), request.documents, take);
    }
  };
  return learn_tokenizer(each, {.vocabulary = *request.vocabulary});
}

std::uint64_t digest_of_tokenizer(const fs::path& folder) {
  std::string all;
  for (const fs::path& file : tokenizer_files(folder))
    all += file.filename().string() + "\n" + bytes_of_file(file);
  return digest(all);
}

void check_same(const fs::path& folder, const MadeBy& by) {
  bool same = !has_tokenizer(folder) || digest_of_tokenizer(folder) == by.tokenizer;
  if (same && is_there(folder / "tokens.json")) {
    const json index = detail::read_json((folder / "tokens.json").string());
    same = index.is_object() && index.value("tokenizer", json()) == by.tokenizer &&
           index.value("documents_are", json()) == static_cast<int>(by.documents.kind) &&
           index.value("member", json()) == by.documents.member;
  }
  RIESZ_CHECK(same, "the folder ", in_quotes(folder.string()),
              " has another tokenizer, or tokens of other documents; choose another folder, or remove it");
}

/// A folder made anew, which is removed when this is destroyed.
struct Passing {
  explicit Passing(fs::path of) : folder(std::move(of)) {
    remove_tree(folder);
    make_folders(folder);
  }
  ~Passing() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;

  const fs::path folder;
};

/// The first worker puts the tokenizer's files into the folder, if that has no tokens of another one.
void put_tokenizer(const TokenizeRequest& request) {
  const Passing passing(request.folder / ".tokenizer");
  const fs::path& aside = passing.folder;
  if (request.vocabulary) {
    write_tokenizer(learn(request), aside);
  } else {
    for (const fs::path& file : tokenizer_files(request.tokenizer))
      duplicate_file(file, aside / file.filename());
  }
  check_same(request.folder, {digest_of_tokenizer(aside), request.documents});
  remove_tree(request.folder / "tokens.json");  // it comes back last
  for (const fs::path& file : names_in(aside)) rename_file(file, request.folder / file.filename());
  sync_folder(request.folder);
}

/// Removes what a run that was ended has left half written.
void remove_unfinished(const fs::path& folder) {
  for (const fs::path& file : names_in(folder)) {
    const std::string name = file.filename().string();
    if ((name.starts_with("part-") || name.starts_with("tokens.json.")) && name.ends_with(".tmp"))
      remove_tree(file);
  }
}

/// Removes parts that an earlier run made of more text.
void remove_from(const fs::path& folder, std::size_t number) {
  for (;; ++number) {
    bool any = false;
    for (const char* kind : {".json", ".tokens", ".ends"})
      any = remove_tree(folder / (detail::part_name(number) + kind)) || any;
    if (!any) return;
  }
}

/// The first worker joins the parts' heads to tokens.json.
Tokenized write_index(const TokenizeRequest& request, const Tokenizer& tokenizer, const MadeBy& by,
                      std::size_t count) {
  Tokenized all;
  json parts = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = (request.folder / (detail::part_name(i) + ".json")).string();
    const json read = detail::read_json(path);
    const detail::JsonField head(read, in_quotes(path) + ": ");
    all.tokens += head["tokens"].digest();
    all.documents += head["documents"].digest();
    for (const detail::JsonField& source : head["sources"].elements())
      all.bytes += source["end"].digest() - source["begin"].digest();
    json& part = parts.emplace_back();
    for (const char* key : {"name", "tokens", "documents", "digest_of_tokens", "digest_of_ends"})
      part[key] = head[key].value();
  }
  remove_from(request.folder, count);
  const auto end = tokenizer.end();
  const json index = {{"format", kFormat},
                      {"tokens", all.tokens},
                      {"documents", all.documents},
                      {"bytes_of_text", all.bytes},
                      {"bytes_of_a_token", tokenizer.size() <= 65536 ? 2 : 4},
                      {"vocabulary", tokenizer.size()},
                      {"end", end ? json(*end) : json()},
                      {"tokenizer", by.tokenizer},
                      {"documents_are", static_cast<int>(by.documents.kind)},
                      {"member", printable(by.documents.member)},
                      {"parts", parts}};
  write_file(request.folder / "tokens.json", index.dump(1) + "\n");
  return all;
}

std::string text_of(const std::vector<std::vector<Stretch>>& pieces) {
  std::ostringstream text;
  for (const auto& portion : pieces) {
    for (const Stretch& stretch : portion)
      text << stretch.file.string() << " " << stretch.begin << " " << stretch.end << "\n";
    text << "\n";
  }
  return text.str();
}

/// Makes each part that is this worker's and not there yet; how many were.
std::size_t make_own_parts(const Partition& workers, const TokenizeRequest& request,
                           const std::vector<std::vector<Stretch>>& pieces, const Tokenizer& tokenizer,
                           const MadeBy& by, const std::function<void(const TokenizeProgress&)>& progress) {
  const auto size = static_cast<std::size_t>(workers.size());
  const auto rank = static_cast<std::size_t>(workers.rank());
  TokenizeProgress mine{0, (pieces.size() + size - 1 - rank) / size, 0};
  std::size_t kept = 0;
  for (std::size_t i = rank; i < pieces.size(); i += size) {
    const std::string name = detail::part_name(i);
    const json sources = detail::sources_of(pieces[i], by);
    if (detail::finished_part(request.folder, name, sources))
      ++kept;
    else
      detail::make_part(request.folder, name, pieces[i], tokenizer, request.documents, sources);
    ++mine.done;
    for (const Stretch& stretch : pieces[i]) mine.bytes += stretch.end - stretch.begin;
    if (progress) progress(mine);
  }
  return kept;
}

}  // namespace

Tokenized tokenize(const Partition& workers, const TokenizeRequest& request,
                   const std::function<void(const TokenizeProgress&)>& progress) {
  RIESZ_CHECK(
      request.tokenizer.empty() == request.vocabulary.has_value(),
      "tokenize: give a tokenizer's files (tokenizer), or how many tokens one is to learn from the texts "
      "(vocabulary), and not both");
  if (request.vocabulary) check_vocabulary({.vocabulary = *request.vocabulary});
  const auto pieces = portions(request.files, request.documents, request.bytes);
  RIESZ_CHECK(!pieces.empty(), "there is no text in the files to tokenize");
  check_folder_can_be_written(request.folder);
  check_alike(workers, "the list of files to tokenize, or their size,", digest(text_of(pieces)));
  std::optional<FolderLock> lock;
  if (workers.rank() == 0) {
    make_folders(request.folder);
    lock.emplace(request.folder);
    remove_unfinished(request.folder);
    put_tokenizer(request);
  }
  collect_texts(workers, "");  // the tokenizer is there

  const Tokenizer tokenizer = read_tokenizer(request.folder);
  const MadeBy by{digest_of_tokenizer(request.folder), request.documents};
  const std::size_t kept = make_own_parts(workers, request, pieces, tokenizer, by, progress);

  const std::vector<std::string> kept_by_all = collect_texts(workers, std::to_string(kept));
  std::string made;
  if (workers.rank() == 0) {
    const Tokenized index = write_index(request, tokenizer, by, pieces.size());
    made = concat(index.tokens, " ", index.documents, " ", index.bytes);
  }
  Tokenized all{.parts = pieces.size()};
  std::istringstream(collect_texts(workers, made)[0]) >> all.tokens >> all.documents >> all.bytes;
  for (const std::string& text : kept_by_all) all.kept += std::stoul(text);
  return all;
}

}  // namespace riesz
