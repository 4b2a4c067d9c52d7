// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/chat/template_pieces.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz::detail {
namespace {

constexpr std::string_view kWhite = " \t\n\r\f\v";

std::string with_plain_line_breaks(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') plain += text[i];
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) plain += '\n';
  }
  return plain;
}

/// Takes the blanks off the end of a text, where nothing else stands on its last line; `at_line` says whether
/// the text begins a line.
void strip_blanks_of_line(std::string& text, bool at_line) {
  const std::size_t kept = text.find_last_not_of(" \t");
  const bool alone = kept == std::string::npos ? at_line : text[kept] == '\n';
  if (alone) text.erase(kept == std::string::npos ? 0 : kept + 1);
}

/// Where the tag that begins at `at` has its end sign; one within a quoted text of it is none.
std::size_t end_of_tag(std::string_view text, std::size_t at, std::string_view sign) {
  char quote = 0;
  for (std::size_t i = at; i + 1 < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == quote)
        quote = 0;
    } else if (text.substr(i, 2) == sign) {
      return i;
    } else if (sign != "#}" && (text[i] == '\'' || text[i] == '"')) {
      quote = text[i];
    }
  }
  throw TemplateProblem(concat("the tag ", in_quotes(text.substr(at - 2, 40)), " has no end"));
}

int line_breaks(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The text in quotation marks that begins at `at`, which is set behind it.
std::string quoted(std::string_view text, std::size_t& at) {
  const char quote = text[at];
  std::string value;
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      value += text[at];
      continue;
    }
    const char escape = text[++at];
    const std::size_t known = std::string_view("ntr\\'\"").find(escape);
    if (!(known != std::string_view::npos))
      throw TemplateProblem(concat("the escape \\", escape, " in ", in_quotes(text), " is not supported"));
    value += "\n\t\r\\'\""[known];
  }
  if (!(at < text.size())) throw TemplateProblem(concat("a text in ", in_quotes(text), " has no end"));
  ++at;
  return value;
}

}  // namespace

std::vector<TemplatePiece> template_pieces(std::string_view given) {
  const std::string whole = with_plain_line_breaks(given);
  std::string_view text = whole;
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<TemplatePiece> pieces;
  bool at_line = true;  // does what is next begin a line?
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t tag = at;
    while (tag < text.size() && !(text[tag] == '{' && tag + 1 < text.size() &&
                                  std::string_view("{%#").find(text[tag + 1]) != std::string_view::npos))
      ++tag;
    std::string before(text.substr(at, tag - at));
    if (tag == text.size()) {
      pieces.push_back({TemplatePiece::Kind::text, before, line});
      break;
    }
    const char kind = text[tag + 1];
    const std::string_view sign = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    std::size_t first = tag + 2;
    const std::size_t end = [&] {
      try {
        return end_of_tag(text, first, sign);
      } catch (TemplateProblem& problem) {
        problem.line = line + line_breaks(text.substr(at, tag - at));
        throw;
      }
    }();
    std::size_t last = end;
    const char opening = first < last ? text[first] : ' ';
    if (opening == '-')
      before.erase(before.find_last_not_of(kWhite) + 1);
    else if (kind != '{' && opening != '+')
      strip_blanks_of_line(before, at_line);
    if (opening == '-' || (opening == '+' && kind != '{')) ++first;
    const char closing = last > first ? text[last - 1] : ' ';
    if (closing == '-' || (closing == '+' && kind != '{')) --last;
    if (!before.empty()) pieces.push_back({TemplatePiece::Kind::text, before, line});
    line += line_breaks(text.substr(at, tag - at));
    if (kind != '#')
      pieces.push_back({kind == '{' ? TemplatePiece::Kind::expression : TemplatePiece::Kind::statement,
                        std::string(text.substr(first, last - first)), line});
    at = end + 2;
    at_line = false;
    if (closing == '-') {
      at = std::min(text.find_first_not_of(kWhite, at), text.size());
    } else if (kind != '{' && closing != '+' && at < text.size() && text[at] == '\n') {
      ++at;
      at_line = true;
    }
    line += line_breaks(text.substr(tag, at - tag));
  }
  return pieces;
}

std::vector<TemplateWord> template_words(std::string_view text) {
  static constexpr std::array kSigns = {"==", "!=", "<=", ">=", "//", "<", ">", "=", "+", "-", "*",
                                        "%",  "~",  "|",  ".",  ",",  ":", "(", ")", "[", "]"};
  std::vector<TemplateWord> words;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (kWhite.find(c) != std::string_view::npos) {
      ++at;
    } else if (c == '\'' || c == '"') {
      words.push_back({TemplateWord::Kind::text, quoted(text, at)});
    } else if (is_letter(c) || is_digit(c)) {
      const std::size_t begin = at;
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
      words.push_back({is_digit(c) ? TemplateWord::Kind::number : TemplateWord::Kind::name,
                       std::string(text.substr(begin, at - begin))});
    } else {
      const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](std::string_view each) {
        return text.substr(at).starts_with(each);
      });
      if (!(sign != kSigns.end()))
        throw TemplateProblem(
            concat("the sign ", in_quotes(text.substr(at, 1)), " in ", in_quotes(text), " is not supported"));
      words.push_back({TemplateWord::Kind::sign, *sign});
      at += words.back().text.size();
    }
  }
  words.push_back({TemplateWord::Kind::end, ""});
  return words;
}

}  // namespace riesz::detail
