// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The operations of a template's expressions on values. All are pure. @throws TemplateProblem where a value
// is of another kind than is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/generation/chat/template_expression.h"

namespace riesz::detail {

std::string text_of(const TemplateValue& value);
std::int64_t integer_of(const TemplateValue& value);

/// a + b of two texts, integers or lists.
TemplateValue added(const TemplateValue& a, const TemplateValue& b);
/// a - b. @throws TemplateProblem where 64 bits do not hold it.
std::int64_t difference(std::int64_t a, std::int64_t b);
/// a * b, a // b or a % b, rounded down as in Python. @throws TemplateProblem as above.
std::int64_t multiplied(std::int64_t a, char sign, std::int64_t b);
/// Is a in b: a text in a text, a value in a list, a key in an object?
bool is_within(const TemplateValue& a, const TemplateValue& b);
/// The member of an object, an element of a list or a character of a text, counted from its end if negative;
/// undefined where it has none.
TemplateValue element_of(const TemplateValue& value, const TemplateValue& key);
/// A slice of a list or a text, as Python's value[first:end].
TemplateValue slice_of(const TemplateValue& value, const TemplateValue& first, const TemplateValue& end);

// By name; nullptr where there is none.
using TemplateFunction = TemplateValue (*)(const TemplateValue&);
using TemplateTest = bool (*)(const TemplateValue&);
using TextMethod = nlohmann::json (*)(const std::string&, const std::vector<std::string>&);

/// trim, length, count, upper, lower, first, last, string.
TemplateFunction template_filter(const std::string& name);
/// defined, undefined, none, string, mapping, sequence, iterable, number, boolean, true, false.
TemplateTest template_test(const std::string& name);
/// strip, lstrip, rstrip, upper, lower, startswith, endswith.
TextMethod text_method(const std::string& name);

}  // namespace riesz::detail
