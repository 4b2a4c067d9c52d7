// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/chat/template_expression.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/generation/chat/template_functions.h"
#include "riesz/io/escaped.h"

namespace riesz::detail {
namespace {

using nlohmann::json;

constexpr int kDeepest = 100;

/// Whether two values are alike; an undefined one is like no other.
bool alike(const TemplateValue& a, const TemplateValue& b) {
  return a.has_value() == b.has_value() && (!a || *a == *b);
}

}  // namespace

TemplateValue TemplateScope::find(const std::string& name) const {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return around != nullptr ? around->find(name) : std::nullopt;
}

bool counts_as_true(const TemplateValue& value) {
  if (!value || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number()) return value->get<double>() != 0;
  if (value->is_string()) return !value->get_ref<const std::string&>().empty();
  return !value->empty();
}

std::string written(const TemplateValue& value) {
  if (!value) return "";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_boolean()) return value->get<bool>() ? "True" : "False";
  if (value->is_null()) return "None";
  if (!(value->is_number_integer()))
    throw TemplateProblem(concat("a list, an object or a fraction cannot be written: ",
                                 in_quotes(value->dump(-1, ' ', false, json::error_handler_t::replace))));
  return value->dump();
}

void TemplateReader::refuse(const std::string& what) const {
  throw TemplateProblem(concat("in ", in_quotes(tag_), ": ", what));
}

bool TemplateReader::take(std::string_view sign_or_name) {
  const bool there = words_[at_].is(sign_or_name);
  at_ += there ? 1 : 0;
  return there;
}

void TemplateReader::expect(std::string_view sign_or_name) {
  if (!take(sign_or_name))
    refuse(concat(in_quotes(sign_or_name), " should stand before ", in_quotes(words_[at_].text)));
}

std::string TemplateReader::name() {
  if (words_[at_].kind != TemplateWord::Kind::name)
    refuse(concat("a name should stand at ", in_quotes(words_[at_].text)));
  return words_[at_++].text;
}

void TemplateReader::done() const {
  if (words_[at_].kind != TemplateWord::Kind::end)
    refuse(concat(in_quotes(words_[at_].text), " is not supported there"));
}

TemplateExpression TemplateReader::expression() {
  if (++depth_ > kDeepest) refuse("expressions lie too deep within one another");
  TemplateExpression then = any();
  while (take("if")) {
    const TemplateExpression condition = any();
    const TemplateExpression otherwise =
        take("else") ? expression() : [](const TemplateScope&) { return TemplateValue(); };
    then = [=](const TemplateScope& s) { return counts_as_true(condition(s)) ? then(s) : otherwise(s); };
  }
  --depth_;
  return then;
}

TemplateExpression TemplateReader::any() {
  TemplateExpression left = all();
  while (take("or")) {
    left = [left, right = all()](const TemplateScope& s) {
      const TemplateValue value = left(s);
      return counts_as_true(value) ? value : right(s);
    };
  }
  return left;
}

TemplateExpression TemplateReader::all() {
  TemplateExpression left = negation();
  while (take("and")) {
    left = [left, right = negation()](const TemplateScope& s) {
      const TemplateValue value = left(s);
      return counts_as_true(value) ? right(s) : value;
    };
  }
  return left;
}

TemplateExpression TemplateReader::negation() {
  bool negated = false;
  while (take("not")) negated = !negated;
  const TemplateExpression of = comparison();
  if (!negated) return of;
  return [of](const TemplateScope& s) { return TemplateValue(!counts_as_true(of(s))); };
}

TemplateExpression TemplateReader::comparison() {
  TemplateExpression left = sum();
  for (;;) {
    const auto compared = [&](auto by) {
      left = [left, right = sum(), by](const TemplateScope& s) {
        return TemplateValue(by(left(s), right(s)));
      };
    };
    if (take("=="))
      compared(alike);
    else if (take("!="))
      compared([](const auto& a, const auto& b) { return !alike(a, b); });
    else if (take("<="))
      compared([](const auto& a, const auto& b) { return integer_of(a) <= integer_of(b); });
    else if (take(">="))
      compared([](const auto& a, const auto& b) { return integer_of(a) >= integer_of(b); });
    else if (take("<"))
      compared([](const auto& a, const auto& b) { return integer_of(a) < integer_of(b); });
    else if (take(">"))
      compared([](const auto& a, const auto& b) { return integer_of(a) > integer_of(b); });
    else if (take("in"))
      compared(is_within);
    else if (words_[at_].is("not") && words_[at_ + 1].is("in")) {
      at_ += 2;
      compared([](const auto& a, const auto& b) { return !is_within(a, b); });
    } else {
      return left;
    }
  }
}

TemplateExpression TemplateReader::sum() {
  TemplateExpression left = joined();
  for (;;) {
    const bool plus = take("+");
    if (!plus && !take("-")) return left;
    left = [left, right = joined(), plus](const TemplateScope& s) {
      const TemplateValue a = left(s), b = right(s);
      return plus ? s.budget->made(added(a, b)) : TemplateValue(difference(integer_of(a), integer_of(b)));
    };
  }
}

TemplateExpression TemplateReader::joined() {
  TemplateExpression left = product();
  while (take("~")) {
    left = [left, right = product()](const TemplateScope& s) {
      return s.budget->made(TemplateValue(written(left(s)) + written(right(s))));
    };
  }
  return left;
}

TemplateExpression TemplateReader::product() {
  TemplateExpression left = value();
  for (;;) {
    const char sign = take("*") ? '*' : take("//") ? '/' : take("%") ? '%' : 0;
    if (sign == 0) return left;
    left = [left, right = value(), sign](const TemplateScope& s) {
      return TemplateValue(multiplied(integer_of(left(s)), sign, integer_of(right(s))));
    };
  }
}

TemplateExpression TemplateReader::value() {
  bool negated = false, number = false;
  while (take("-")) negated = !negated, number = true;
  TemplateExpression of = primary();
  for (;;) {
    if (take("."))
      of = member(of);
    else if (take("["))
      of = element(of);
    else if (take("|"))
      of = filtered(of);
    else if (take("is"))
      of = tested(of);
    else
      break;
  }
  if (!number) return of;
  return [of, negated](const TemplateScope& s) {
    return TemplateValue(negated ? difference(0, integer_of(of(s))) : integer_of(of(s)));
  };
}

TemplateExpression TemplateReader::primary() {
  const TemplateWord word = words_[at_];
  if (take("(")) {
    const TemplateExpression within = expression();
    expect(")");
    return within;
  }
  if (take("[")) return list();
  if (word.kind == TemplateWord::Kind::text) {
    std::string text;
    while (words_[at_].kind == TemplateWord::Kind::text) text += words_[at_++].text;
    return [text](const TemplateScope&) { return TemplateValue(text); };
  }
  if (word.kind == TemplateWord::Kind::number) {
    if (word.text.size() > 9 || !std::all_of(word.text.begin(), word.text.end(),
                                             [](unsigned char c) { return std::isdigit(c) != 0; }))
      refuse(concat("the number ", in_quotes(word.text), " is not supported"));
    ++at_;
    return [number = std::stoi(word.text)](const TemplateScope&) { return TemplateValue(number); };
  }
  const std::string of = name();
  const auto constant = [](json value) {
    return [value](const TemplateScope&) { return TemplateValue(value); };
  };
  if (of == "true" || of == "True") return constant(true);
  if (of == "false" || of == "False") return constant(false);
  if (of == "none" || of == "None") return constant(nullptr);
  if (take("(")) {
    const std::vector<TemplateExpression> given = arguments();
    if (of != "raise_exception" || given.size() != 1)
      refuse(concat("the function ", in_quotes(of), " is not supported"));
    return [why = given[0]](const TemplateScope& s) -> TemplateValue {
      throw TemplateProblem(concat("the template refuses these messages: ", in_short(written(why(s)))));
    };
  }
  return [of](const TemplateScope& s) { return s.budget->used(s.find(of)); };
}

TemplateExpression TemplateReader::list() {
  std::vector<TemplateExpression> elements;
  while (!take("]")) {
    elements.push_back(expression());
    if (!words_[at_].is("]")) expect(",");
  }
  return [elements](const TemplateScope& s) {
    json all = json::array();
    for (const TemplateExpression& each : elements) all.push_back(each(s).value_or(nullptr));
    return s.budget->made(TemplateValue(std::move(all)));
  };
}

std::vector<TemplateExpression> TemplateReader::arguments() {
  std::vector<TemplateExpression> all;
  while (!take(")")) {
    all.push_back(expression());
    if (!words_[at_].is(")")) expect(",");
  }
  return all;
}

TemplateExpression TemplateReader::member(TemplateExpression of) {
  const std::string key = name();
  if (!take("(")) return [of, key](const TemplateScope& s) { return element_of(of(s), json(key)); };
  const TextMethod method = text_method(key);
  const std::vector<TemplateExpression> given = arguments();
  if (method == nullptr) refuse(concat("the method ", in_quotes(key), " is not supported"));
  return [of, method, given](const TemplateScope& s) {
    std::vector<std::string> texts;
    for (const TemplateExpression& each : given) texts.push_back(text_of(each(s)));
    return TemplateValue(method(text_of(of(s)), texts));
  };
}

TemplateExpression TemplateReader::element(TemplateExpression of) {
  const auto bound = [&]() -> TemplateExpression {
    if (words_[at_].is(":") || words_[at_].is("]"))
      return [](const TemplateScope&) { return TemplateValue(); };
    return expression();
  };
  const TemplateExpression first = bound();
  if (take(":")) {
    const TemplateExpression end = bound();
    expect("]");
    return [of, first, end](const TemplateScope& s) { return slice_of(of(s), first(s), end(s)); };
  }
  expect("]");
  return [of, first](const TemplateScope& s) { return element_of(of(s), first(s)); };
}

TemplateExpression TemplateReader::filtered(TemplateExpression of) {
  const std::string by = name();
  const TemplateFunction filter = template_filter(by);
  if (filter == nullptr || words_[at_].is("("))
    refuse(concat("the filter ", in_quotes(by), " is not supported"));
  return [of, filter](const TemplateScope& s) { return filter(of(s)); };
}

TemplateExpression TemplateReader::tested(TemplateExpression of) {
  const bool negated = take("not");
  const std::string by = name();
  const TemplateTest test = template_test(by);
  if (test == nullptr || words_[at_].is("(")) refuse(concat("the test ", in_quotes(by), " is not supported"));
  return [of, test, negated](const TemplateScope& s) { return TemplateValue(test(of(s)) != negated); };
}

}  // namespace riesz::detail
