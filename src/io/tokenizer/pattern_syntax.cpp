// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cctype>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/pattern.h"

namespace riesz {
namespace {

/// Reads an expression from the left and writes what PCRE2 takes.
class Translation {
 public:
  explicit Translation(std::string_view expression) : all_(expression) {}

  std::string run() {
    while (at_ < all_.size()) step();
    return out_;
  }

 private:
  void step() {
    if (all_[at_] == '\\') return escape();
    if (in_set_) return in_set();
    if (all_[at_] == '[') return open_set();
    if (all_[at_] == '(') check_group();
    if (all_[at_] == '}' && next(1) == '+') refuse("a possessive {n,m}+");
    copy(1);
  }

  void open_set() {
    in_set_ = true;
    copy(1);
    if (next(0) == '^') copy(1);
    if (next(0) == ']') refuse("a set that begins with ]; write \\]");
  }

  void in_set() {
    if (all_[at_] == '[') refuse("a set within a set");
    if (all_[at_] == '&' && next(1) == '&') refuse("&& in a set");
    if (all_[at_] == ']') in_set_ = false;
    copy(1);
  }

  void check_group() {
    if (next(1) != '?') return;
    static constexpr std::array<std::string_view, 9> kKnown = {"(?:", "(?=",  "(?!",  "(?<=", "(?<!",
                                                               "(?>", "(?i:", "(?i)", "(?-i:"};
    const std::string_view rest = all_.substr(at_);
    if (std::none_of(kKnown.begin(), kKnown.end(), [&](auto known) { return rest.starts_with(known); }))
      refuse("this kind of group");
  }

  void escape() {
    const char letter = next(1);
    static constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    switch (letter) {
      case 's':
        return put("\\p{White_Space}");
      case 'S':
        return put("\\P{White_Space}");
      case 'd':
        return put("\\p{Nd}");
      case 'D':
        return put("\\P{Nd}");
      case 'w':
        return put(in_set_ ? std::string(kWord) : concat("[", kWord, "]"));
      case 'W':
        if (in_set_) refuse("\\W in a set");
        return put(concat("[^", kWord, "]"));
      case 'u':
        return code_point();
      case 'p':
      case 'P':
        return property();
      case 'x':
      case 'n':
      case 'r':
      case 't':
      case 'f':
        return copy(2);
      default:
        break;
    }
    if (letter == '\0' || std::isalnum(static_cast<unsigned char>(letter)) != 0) refuse("this escape");
    copy(2);
  }

  void code_point() {
    const std::string digits(all_.substr(std::min(at_ + 2, all_.size()), 4));
    const bool good = digits.size() == 4 && std::all_of(digits.begin(), digits.end(), [](unsigned char c) {
                        return std::isxdigit(c) != 0;
                      });
    if (!good) refuse("\\u without four digits");
    out_ += "\\x{" + digits + "}";
    at_ += 6;
  }

  void property() {
    const std::size_t end = all_.find('}', at_);
    if (next(2) != '{' || end == std::string_view::npos) refuse("a property without braces");
    copy(end + 1 - at_);
  }

  char next(std::size_t i) const { return at_ + i < all_.size() ? all_[at_ + i] : '\0'; }

  void copy(std::size_t count) {
    out_ += all_.substr(at_, count);
    at_ += count;
  }

  void put(std::string_view instead) {
    out_ += instead;
    at_ += 2;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(concat("the pattern ", in_quotes(all_), ", at ", in_quotes(all_.substr(at_, 8)), ": ", what,
                       " is not supported"));
  }

  std::string_view all_;
  std::size_t at_ = 0;
  bool in_set_ = false;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view expression) { return Translation(expression).run(); }

}  // namespace riesz
