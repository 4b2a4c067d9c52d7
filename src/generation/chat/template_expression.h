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

/// A value of a template's expression; nothing if it is undefined.
using TemplateValue = std::optional<nlohmann::json>;

/// A bound on the work and memory of a template for one text. With it a template that doubles a value, or has
/// loops in loops, ends with an error. Each call @throws TemplateProblem beyond the bound.
class TemplateBudget {
 public:
  /// Counts a statement, or one turn of a loop: at most a million.
  void step();
  /// Counts bytes of new memory, for the text or a value: at most 64 MiB.
  void take(std::size_t bytes);
  /// Counts a new value's bytes, and checks that its lists are at most 100 deep.
  TemplateValue made(TemplateValue value);
  /// Counts a value that is copied in use: at most 16 GiB, which bounds the time.
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

/// An expression, ready to be evaluated. @throws TemplateProblem where values do not fit their operation, and
/// for raise_exception.
using TemplateExpression = std::function<TemplateValue(const TemplateScope& scope)>;

/// Reads the contents of a tag, word by word.
class TemplateReader {
 public:
  explicit TemplateReader(const std::string& tag) : tag_(tag), words_(template_words(tag)) {}

  /// Reads an expression. Operations, in Jinja's order: a if b else c; or; and; not; comparisons and `in`; +
  /// −; ~; * // %. Operands: names, texts, integers, lists and (…), with .name, [index], [from:to], |filter,
  /// `is` test. Calls: a text's methods and raise_exception.
  /// @throws TemplateProblem quoting the tag, and naming what is not supported.
  TemplateExpression expression();
  /// The same without a if b else c.
  TemplateExpression unconditional() { return any(); }

  /// Takes the next word if it is this one; returns whether it was.
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
