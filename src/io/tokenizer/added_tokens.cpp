// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

std::size_t white_space_at_start(std::string_view text) {
  std::size_t length = 0;
  for (Character c = first_character(text); c.size > 0 && is_white_space(c.code);
       c = first_character(text.substr(length))) {
    length += c.size;
  }
  return length;
}

std::size_t white_space_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;  // of the last character: a continuation byte is 10xxxxxx
    while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    const Character c = first_character(text.substr(begin, end - begin));
    if (c.size != end - begin || !is_white_space(c.code)) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : all_(std::move(tokens)) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].text.empty()) continue;
    (all_[i].normalized ? second_ : first_)[static_cast<unsigned char>(all_[i].text[0])].push_back(i);
  }
  for (Table* table : {&first_, &second_}) {
    for (auto& tokens_of_byte : *table) {
      std::stable_sort(tokens_of_byte.begin(), tokens_of_byte.end(), [&](std::size_t a, std::size_t b) {
        return all_[a].text.size() > all_[b].text.size();
      });
    }
  }
}

void AddedTokens::cut(std::string_view text, const VisitText& between, const VisitToken& token) const {
  cut(
      first_, text, [&](std::string_view rest) { cut(second_, rest, between, token); }, token);
}

void AddedTokens::cut(const Table& table, std::string_view text, const VisitText& between,
                      const VisitToken& token) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto& candidates = table[static_cast<unsigned char>(text[at])];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t candidate) {
      return text.substr(at).starts_with(all_[candidate].text);
    });
    if (found == candidates.end()) {
      ++at;
      continue;
    }
    const AddedToken& here = all_[*found];
    // The search goes on behind the token's text, also where the token takes white space that the next one
    // begins with: then both have it.
    std::size_t begin = at;
    at += here.text.size();
    if (here.strip_left && begin > done) begin -= white_space_at_end(text.substr(done, begin - done));
    if (begin > done) between(text.substr(done, begin - done));
    token(here);
    done = at + (here.strip_right ? white_space_at_start(text.substr(at)) : 0);
  }
  if (done < text.size()) between(text.substr(done));
}

}  // namespace riesz
