// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/parameter_groups.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/nn/means_parameter.h"

namespace riesz {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// The number behind "name=", from 0 to 10.
std::optional<double> number_of(const std::string& word, const std::string& name) {
  if (!word.starts_with(name + "=")) return std::nullopt;
  const char* const begin = word.data() + name.size() + 1;
  const char* const end = word.data() + word.size();
  double value = -1;
  const auto [last, error] = std::from_chars(begin, end, value);
  return error == std::errc() && last == end && value >= 0 && value <= 10 ? std::optional(value)
                                                                          : std::nullopt;
}

ParameterGroup group_of(const std::string& text, const std::string& said_in) {
  const std::size_t colon = text.find(':');
  ParameterGroup group{words_of(text.substr(0, colon)), {}, {}};
  const std::vector<std::string> settings =
      colon == std::string::npos ? std::vector<std::string>() : words_of(text.substr(colon + 1));
  RIESZ_CHECK(!group.patterns.empty() && !settings.empty(), said_in, ": the group ", in_quotes(text),
              " is none; write patterns of parameters, a colon, and what is their own, such as "
              "\"lm_head: learning_rate=1e-4 weight_decay=0\"");
  for (const std::string& word : settings) {
    const std::optional<double> rate = number_of(word, "learning_rate");
    const std::optional<double> decay = number_of(word, "weight_decay");
    RIESZ_CHECK(rate || decay, said_in, ": ", in_quotes(word), " in the group ", in_quotes(text),
                "; it must be learning_rate= or weight_decay= with a number from 0 to 10");
    (rate ? group.learning_rate : group.weight_decay) = rate ? rate : decay;
  }
  return group;
}

}  // namespace

bool ParameterGroup::has(const Parameter& parameter) const {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return detail::means_parameter(pattern, parameter.name());
  });
}

std::vector<ParameterGroup> parameter_groups(const std::string& text, const std::string& said_in) {
  std::vector<ParameterGroup> groups;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each, ';');) {
    if (!words_of(each).empty()) groups.push_back(group_of(each, said_in));
  }
  return groups;
}

void check_groups(const std::vector<ParameterGroup>& groups, const std::vector<Parameter>& parameters,
                  const std::string& said_in) {
  for (const ParameterGroup& group : groups) {
    for (const std::string& pattern : group.patterns) {
      const ParameterGroup alone{{pattern}, {}, {}};
      RIESZ_CHECK(std::any_of(parameters.begin(), parameters.end(),
                              [&](const Parameter& parameter) { return alone.has(parameter); }),
                  said_in, ": the pattern ", in_quotes(pattern),
                  " means no parameter of the model; it is a parameter's name, such as ",
                  parameters.front().name(), ", or the path of a module");
    }
  }
}

}  // namespace riesz
