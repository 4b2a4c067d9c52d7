// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/token_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/tokens/part_files.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokensFormat = "riesz tokens 1";

/// The part that the number lies in.
std::size_t part_of(const std::vector<std::int64_t>& firsts, std::int64_t number) {
  return static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), number) - firsts.begin()) -
         1;
}

template <typename Stored>
void copy_as_64(const char* from, std::int64_t count, std::int64_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored one;
    std::memcpy(&one, from + static_cast<std::size_t>(i) * sizeof one, sizeof one);
    to[i] = one;
  }
}

}  // namespace

TokenSet::TokenSet(const fs::path& folder) : folder_(folder), files_(std::make_shared<PartFiles>()) {
  const fs::path index = folder / "tokens.json";
  RIESZ_CHECK(is_there(index), "the folder ", in_quotes(folder.string()),
              " has no tokens.json: riesz tokenize has made none there, or has not come to its end; run it");
  const nlohmann::json json = detail::read_json(index.string());
  const detail::JsonField whole(json, in_quotes(index.string()));
  RIESZ_CHECK(json.is_object() && json.value("format", nlohmann::json()) == kTokensFormat,
              in_quotes(index.string()), " is of the format ", whole["format"].shown(),
              "; this program reads \"", kTokensFormat, "\"");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // whose bytes can be counted
  vocabulary_ = whole["vocabulary"].integer(1, std::int64_t{1} << 32);
  if (const auto end = whole.find("end")) end_ = end->integer(0, vocabulary_ - 1);
  width_ = whole["bytes_of_a_token"].integer(2, 4);
  RIESZ_CHECK(width_ != 3, in_quotes(index.string()), ".bytes_of_a_token is 3; it must be 2 or 4");
  tokenizer_ = whole["tokenizer"].digest();
  std::string digests;
  for (const detail::JsonField& part : whole["parts"].elements()) {
    const std::string name = part["name"].text();
    if (name != fs::path(name).filename()) part["name"].refuse("is no file's name");
    const std::int64_t tokens = part["tokens"].integer(0, kMost - this->tokens());
    const std::int64_t documents = part["documents"].integer(0, kMost - this->documents());
    parts_.push_back({name, files_->add(folder / (name + ".tokens"), tokens * width_),
                      files_->add(folder / (name + ".ends"), documents * 8),
                      part["digest_of_tokens"].digest(), part["digest_of_ends"].digest()});
    first_token_.push_back(this->tokens() + tokens);
    first_document_.push_back(this->documents() + documents);
    digests += concat(parts_.back().digest_of_tokens, " ", parts_.back().digest_of_ends, " ");
  }
  digest_ = riesz::digest(digests);
}

void TokenSet::read(std::int64_t begin, std::int64_t count, std::int64_t* to) const {
  RIESZ_CHECK(begin >= 0 && count >= 0 && begin + count <= tokens(), "tokens ", begin, " to ", begin + count,
              " of ", tokens(), " in ", in_quotes(folder_.string()));
  std::string bytes;
  while (count > 0) {
    const std::size_t part = part_of(first_token_, begin);
    const std::int64_t here = std::min(count, first_token_[part + 1] - begin);
    bytes.resize(static_cast<std::size_t>(here * width_));
    files_->read(parts_[part].tokens, (begin - first_token_[part]) * width_, bytes.data(), here * width_);
    width_ == 2 ? copy_as_64<std::uint16_t>(bytes.data(), here, to)
                : copy_as_64<std::uint32_t>(bytes.data(), here, to);
    begin += here;
    to += here;
    count -= here;
  }
}

std::int64_t TokenSet::end_of(std::size_t part, std::int64_t document) const {
  constexpr std::int64_t kAtOnce = 512;
  const std::lock_guard guard(mutex_);
  const std::int64_t all = first_document_[part + 1] - first_document_[part];
  const std::int64_t first = document / kAtOnce * kAtOnce;
  if (ends_.all.empty() || ends_.part != part || ends_.first != first) {
    Ends read{part, first,
              std::vector<std::uint64_t>(static_cast<std::size_t>(std::min(kAtOnce, all - first)))};
    files_->read(parts_[part].ends, first * 8, read.all.data(),
                 static_cast<std::int64_t>(read.all.size()) * 8);
    ends_ = std::move(read);
  }
  const std::uint64_t end = ends_.all[static_cast<std::size_t>(document - first)];
  const auto most = static_cast<std::uint64_t>(first_token_[part + 1] - first_token_[part]);
  RIESZ_CHECK(end <= most, in_quotes(files_->path(parts_[part].ends).string()), " says that document ",
              document, " ends after ", end, " tokens, and the part has ", most,
              "; run riesz tokenize again");
  return static_cast<std::int64_t>(end);
}

Interval TokenSet::document(std::int64_t number) const {
  RIESZ_CHECK(number >= 0 && number < documents(), "document ", number, " of ", documents(), " in ",
              in_quotes(folder_.string()));
  const std::size_t part = part_of(first_document_, number);
  const std::int64_t place = number - first_document_[part];
  const std::int64_t begin = place == 0 ? 0 : end_of(part, place - 1), end = end_of(part, place);
  RIESZ_CHECK(begin <= end, in_quotes(files_->path(parts_[part].ends).string()), " says that document ",
              place, " ends before it begins; run riesz tokenize again");
  return {first_token_[part] + begin, first_token_[part] + end};
}

std::int64_t TokenSet::document_from(std::int64_t token) const {
  std::int64_t least = 0;
  for (std::int64_t most = documents(); least < most;) {
    const std::int64_t middle = least + (most - least) / 2;
    if (document(middle).begin < token)
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}

void TokenSet::check_part(std::size_t number) const {
  const Part& part = parts_[number];
  const auto check = [&](std::size_t file, std::uint64_t made) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    RIESZ_CHECK(riesz::digest(bytes_of_file(files_->path(file), kAny)) == made,
                in_quotes(files_->path(file).string()),
                " has changed since it was made; run riesz tokenize again");
  };
  check(part.tokens, part.digest_of_tokens);
  check(part.ends, part.digest_of_ends);
}

std::pair<Interval, Interval> split_off(const TokenSet& set, double part) {
  RIESZ_CHECK(part >= 0 && part < 1, "a part of ", part, " held out; it must be 0 or more and less than 1");
  std::int64_t cut = std::llround((1 - part) * static_cast<double>(set.tokens()));
  const std::int64_t next = set.document_from(cut);
  if (part > 0 && next < set.documents()) cut = set.document(next).begin;
  return {Interval{0, cut}, Interval{cut, set.tokens()}};
}

}  // namespace riesz
