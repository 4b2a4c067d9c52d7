// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace riesz::detail {

/// An error of a template, or of what it is used on; `ChatTemplate` throws it as an Error that says of which
/// template.
class TemplateProblem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  int line = 0;  ///< of the template; 0 where it is not known yet
};

/// A piece of a template: text that stands for itself, {{ an expression }} or {% a statement %}.
struct TemplatePiece {
  enum class Kind { text, expression, statement };

  Kind kind;
  std::string text;  ///< of a tag, what stands within
  int line = 1;      ///< of the template, on which it begins
};

/// Cuts a Jinja template, without its {# comments #}. White space is Jinja's with trim_blocks and
/// lstrip_blocks, as Hugging Face's libraries read chat templates. The line break behind a statement and the
/// blanks before it on its line go. `-` at a tag's end takes all white space there, `+` leaves it. The text's
/// last line break goes. @throws TemplateProblem quoting a tag that has no end.
std::vector<TemplatePiece> template_pieces(std::string_view text);

/// A word of an expression: a name, a number, a text (without its quotation marks) or a sign such as "==".
struct TemplateWord {
  enum class Kind { name, number, text, sign, end };

  Kind kind;
  std::string text;

  bool is(std::string_view sign_or_name) const {
    return (kind == Kind::sign || kind == Kind::name) && text == sign_or_name;
  }
};

/// The words of what stands within a tag, and Kind::end behind the last. @throws TemplateProblem quoting it
/// at a character that begins no word, or a text without end.
std::vector<TemplateWord> template_words(std::string_view text);

}  // namespace riesz::detail
