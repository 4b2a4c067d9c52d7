// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace riesz::detail {

/// An error of a template, or of the values given to it. `ChatTemplate` throws it as an Error that names the
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
/// lstrip_blocks, as Hugging Face's libraries read chat templates. It removes the line break behind a
/// statement, the blanks before it on its line, and the text's last line break. `-` at a tag's end removes
/// all white space there, `+` leaves it. @throws TemplateProblem quoting a tag that has no end.
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

/// The words of a tag's contents, and Kind::end behind the last. @throws TemplateProblem quoting them at a
/// character that begins no word, or at a text without end.
std::vector<TemplateWord> template_words(std::string_view text);

}  // namespace riesz::detail
