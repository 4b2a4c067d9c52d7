// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/error.h"
#include "riesz/generation/chat/template_expression.h"

namespace riesz::detail {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostSteps = 1'000'000;
constexpr std::size_t kMostTaken = std::size_t{64} << 20, kMostUsed = std::size_t{16} << 30;
constexpr int kDeepestList = 100;

/// About how much memory a value takes.
std::size_t bytes_of(const json& value, int depth = 0) {
  if (depth > kDeepestList)
    throw TemplateProblem(concat("a list lies more than ", kDeepestList, " deep in lists"));
  std::size_t bytes = 64;  // with what the allocator adds
  if (value.is_string()) bytes += value.get_ref<const std::string&>().size();
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) bytes += name.size() + bytes_of(member, depth + 1);
  } else if (value.is_array()) {
    for (const json& element : value) bytes += bytes_of(element, depth + 1);
  }
  return bytes;
}

void add(std::size_t& all, std::size_t bytes, std::size_t most, const char* what) {
  all += bytes;
  if (all > most) throw TemplateProblem(concat("it ", what, " more than ", most >> 20, " MiB"));
}

}  // namespace

void TemplateBudget::step() {
  if (++steps_ > kMostSteps) throw TemplateProblem(concat("it takes more than ", kMostSteps, " steps"));
}

void TemplateBudget::take(std::size_t bytes) { add(taken_, bytes, kMostTaken, "makes texts and lists of"); }

TemplateValue TemplateBudget::made(TemplateValue value) {
  if (value) take(bytes_of(*value));
  return value;
}

TemplateValue TemplateBudget::used(TemplateValue value) {
  if (value) add(used_, bytes_of(*value), kMostUsed, "looks at texts and lists of");
  return value;
}

}  // namespace riesz::detail
