// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/generation/chat/template_pieces.h"

namespace riesz::detail {

/// A value of a template's expression; nothing: it is undefined.
using TemplateValue = std::optional<nlohmann::json>;

/// What a template may use up for one text, so that one which doubles a value, or has loops in loops, ends
/// with an error. Each call @throws TemplateProblem where it is too much.
class TemplateBudget {
 public:
  /// A statement, or one turn of a loop: a million at most.
  void step();
  /// Bytes of memory that the text or a value takes anew: 64 MiB at most.
  void take(std::size_t bytes);
  /// A value that is made: its bytes are taken, and its lists are at most 100 deep.
  TemplateValue made(TemplateValue value);
  /// A value that is copied as it is used: 16 GiB at most, which bounds the time.
  TemplateValue used(TemplateValue value);

 private:
  std::int64_t steps_ = 0;
  std::size_t taken_ = 0;
  std::size_t used_ = 0;
};

/// The names that a place in a template sees: its own, then those around it.
struct TemplateScope {
  const TemplateScope* around = nullptr;
  TemplateBudget* budget = nullptr;
  std::map<std::string, nlohmann::json> names = {};

  TemplateValue find(const std::string& name) const;
};

/// An expression, ready to be evaluated. @throws TemplateProblem where values do not fit what is done with
/// them, and as raise_exception does.
using TemplateExpression = std::function<TemplateValue(const TemplateScope& scope)>;

/// Reads what stands within a tag, word by word.
class TemplateReader {
 public:
  explicit TemplateReader(const std::string& tag) : tag_(tag), words_(template_words(tag)) {}

  /// An expression in Jinja's order of operations: a if b else c; or; and; not; comparisons and `in`; + −;
  /// ~; * // %; then names, texts, integers, lists, (…), .name, [index], [from:to], |filter, `is` test,
  /// and calls of a text's methods and of raise_exception.
  /// @throws TemplateProblem quoting the tag, and naming what is not supported.
  TemplateExpression expression();
  /// The same without a if b else c.
  TemplateExpression unconditional() { return any(); }

  /// Is the next word this one? Then it is passed over.
  bool take(std::string_view sign_or_name);
  void expect(std::string_view sign_or_name);
  std::string name();
  /// @throws TemplateProblem unless all words are read.
  void done() const;
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  using Two = TemplateValue (*)(const TemplateValue&, const TemplateValue&);

  TemplateExpression any();
  TemplateExpression all();
  TemplateExpression negation();
  TemplateExpression comparison();
  TemplateExpression sum();
  TemplateExpression joined();
  TemplateExpression product();
  TemplateExpression value();
  TemplateExpression primary();
  TemplateExpression list();
  TemplateExpression member(TemplateExpression of);
  TemplateExpression element(TemplateExpression of);
  TemplateExpression filtered(TemplateExpression of);
  TemplateExpression tested(TemplateExpression of);
  std::vector<TemplateExpression> arguments();

  std::string tag_;
  std::vector<TemplateWord> words_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// Does a value count as true? As in Python.
bool counts_as_true(const TemplateValue& value);
/// The text that {{ value }} writes; nothing if it is undefined.
std::string written(const TemplateValue& value);

}  // namespace riesz::detail
