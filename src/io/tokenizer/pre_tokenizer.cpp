// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/pre_tokenizer.h"

#include <optional>

#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

/// Holds the last piece back until it is known whether the next one joins it.
class Joined {
 public:
  Joined(std::string_view text, const SplitStep& step, const PreTokenizer::Visit& visit)
      : text_(text), step_(step), visit_(visit) {}

  void add(std::size_t begin, std::size_t end, bool match) {
    if (begin == end) return;
    match = match != step_.invert;
    if (held_.begin < held_.end && joins(match)) {
      held_.end = end;
    } else {
      flush();
      held_ = TextExtent{begin, end};
    }
    held_matches_ = match;
  }

  void flush() {
    const bool left_out = held_matches_ && step_.behavior == Behavior::removed;
    if (held_.begin < held_.end && !left_out) visit_(text_.substr(held_.begin, held_.end - held_.begin));
    held_ = {};
  }

 private:
  bool joins(bool match) const {
    switch (step_.behavior) {
      case Behavior::contiguous:
        return match == held_matches_;
      case Behavior::merged_with_previous:
        return match && !held_matches_;
      case Behavior::merged_with_next:
        return !match && held_matches_;
      default:
        return false;
    }
  }

  std::string_view text_;
  const SplitStep& step_;
  const PreTokenizer::Visit& visit_;
  TextExtent held_{};
  bool held_matches_ = false;
};

void each_piece(const SplitStep& step, std::string_view text, const PreTokenizer::Visit& visit) {
  Joined pieces(text, step, visit);
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const std::optional<TextExtent> match = step.pattern.find(text, from);
    if (!match) break;
    pieces.add(done, match->begin, false);
    pieces.add(match->begin, match->end, true);
    done = match->end;
    from = done;
    // An empty match cuts, and the search goes on behind the next character.
    if (match->begin == match->end) from += done == text.size() ? 1 : first_character(text.substr(done)).size;
  }
  pieces.add(done, text.size(), false);
  pieces.flush();
}

/// The length of what a text begins with that is no UTF-8.
std::size_t not_utf8(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && first_character(text.substr(length)).size == 0) ++length;
  return length;
}

}  // namespace

const std::string& PreTokenizer::gpt2_pattern() {
  static const std::string pattern =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  return pattern;
}

void PreTokenizer::each_word(std::string_view text, const Visit& visit) const {
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t good = utf8_prefix(text);
    if (good > 0) walk(0, text.substr(0, good), first, visit);
    text.remove_prefix(good);
    const std::size_t bad = not_utf8(text);
    if (bad > 0) visit(text.substr(0, bad));
    text.remove_prefix(bad);
  }
}

/// A space is put before pieces of what stands first alone: what follows bytes that are no UTF-8 must come
/// back as it was.
void PreTokenizer::walk(std::size_t step, std::string_view piece, bool first, const Visit& visit) const {
  if (step == steps_.size()) return visit(piece);
  if (const auto* split = std::get_if<SplitStep>(&steps_[step])) {
    each_piece(*split, piece, [&](std::string_view part) { walk(step + 1, part, first, visit); });
  } else if (first && !piece.starts_with(' ')) {
    walk(step + 1, " " + std::string(piece), first, visit);
  } else {
    walk(step + 1, piece, first, visit);
  }
}

}  // namespace riesz
