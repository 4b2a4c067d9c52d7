// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/token_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/json/json_field.h"
#include "riesz/partition/alike.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

MappedFile open_part(const fs::path& path, std::uint64_t count, std::size_t width) {
  MappedFile file(path);
  RIESZ_CHECK(file.bytes().size() == count * width, in_quotes(path.string()), " has ", file.bytes().size(),
              " bytes, and tokens.json says ", count * width,
              ": it was cut off or changed; run riesz tokenize again");
  return file;
}

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

TokenSet::TokenSet(const fs::path& folder) : folder_(folder) {
  const fs::path index = folder / "tokens.json";
  RIESZ_CHECK(fs::exists(index), "the folder ", in_quotes(folder.string()),
              " has no tokens.json: riesz tokenize has made none there, or has not come to its end; run it");
  const nlohmann::json json = detail::read_json(index.string());
  try {
    RIESZ_CHECK(json.at("format") == "riesz tokens 1", in_quotes(index.string()), " is of the format ",
                json.at("format").dump(), "; this program reads \"riesz tokens 1\"");
    vocabulary_ = json.at("vocabulary").get<std::int64_t>();
    if (!json.at("end").is_null()) end_ = json.at("end").get<std::int64_t>();
    two_bytes_ = json.at("bytes_of_a_token").get<int>() == 2;
    tokenizer_ = json.at("tokenizer").get<std::uint64_t>();
    std::string digests;
    for (const nlohmann::json& part : json.at("parts")) {
      const auto name = part.at("name").get<std::string>();
      const auto tokens = part.at("tokens").get<std::uint64_t>();
      const auto documents = part.at("documents").get<std::uint64_t>();
      parts_.push_back({name, open_part(folder / (name + ".tokens"), tokens, two_bytes_ ? 2 : 4),
                        open_part(folder / (name + ".ends"), documents, 8),
                        part.at("digest_of_tokens").get<std::uint64_t>(),
                        part.at("digest_of_ends").get<std::uint64_t>()});
      first_token_.push_back(this->tokens() + static_cast<std::int64_t>(tokens));
      first_document_.push_back(this->documents() + static_cast<std::int64_t>(documents));
      digests += concat(parts_.back().digest_of_tokens, " ", parts_.back().digest_of_ends, " ");
    }
    digest_ = riesz::digest(digests);
  } catch (const nlohmann::json::exception& error) {
    throw_error(
        concat(in_quotes(index.string()), " is not as riesz tokenize writes it: ", escaped(error.what())));
  }
}

void TokenSet::read(std::int64_t begin, std::int64_t count, std::int64_t* to) const {
  RIESZ_CHECK(begin >= 0 && count >= 0 && begin + count <= tokens(), "tokens ", begin, " to ", begin + count,
              " of ", tokens(), " in ", in_quotes(folder_.string()));
  const std::size_t width = two_bytes_ ? 2 : 4;
  while (count > 0) {
    const std::size_t part = part_of(first_token_, begin);
    const std::int64_t here = std::min(count, first_token_[part + 1] - begin);
    const char* from =
        parts_[part].tokens.bytes().data() + static_cast<std::size_t>(begin - first_token_[part]) * width;
    two_bytes_ ? copy_as_64<std::uint16_t>(from, here, to) : copy_as_64<std::uint32_t>(from, here, to);
    begin += here;
    to += here;
    count -= here;
  }
}

std::uint64_t TokenSet::end_of(const Part& part, std::int64_t document) const {
  std::uint64_t end = 0;
  std::memcpy(&end, part.ends.bytes().data() + static_cast<std::size_t>(document) * sizeof end, sizeof end);
  return end;
}

Interval TokenSet::document(std::int64_t number) const {
  RIESZ_CHECK(number >= 0 && number < documents(), "document ", number, " of ", documents(), " in ",
              in_quotes(folder_.string()));
  const std::size_t part = part_of(first_document_, number);
  const std::int64_t place = number - first_document_[part];
  const std::uint64_t begin = place == 0 ? 0 : end_of(parts_[part], place - 1);
  return {first_token_[part] + static_cast<std::int64_t>(begin),
          first_token_[part] + static_cast<std::int64_t>(end_of(parts_[part], place))};
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
  const auto check = [&](const MappedFile& file, const char* kind, std::uint64_t made) {
    RIESZ_CHECK(riesz::digest(file.bytes().data(), file.bytes().size()) == made,
                in_quotes((folder_ / (part.name + kind)).string()),
                " has changed since it was made; run riesz tokenize again");
  };
  check(part.tokens, ".tokens", part.digest_of_tokens);
  check(part.ends, ".ends", part.digest_of_ends);
}

std::pair<Interval, Interval> split_off(const TokenSet& set, double part) {
  RIESZ_CHECK(part >= 0 && part < 1, "a part of ", part, " held out; it must be 0 or more and less than 1");
  std::int64_t cut = std::llround((1 - part) * static_cast<double>(set.tokens()));
  const std::int64_t next = set.document_from(cut);
  if (part > 0 && next < set.documents()) cut = set.document(next).begin;
  return {Interval{0, cut}, Interval{cut, set.tokens()}};
}

}  // namespace riesz
