// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "riesz/train/config/schema.h"

// How the tables of keys are written, a line for each.
namespace riesz::detail {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

using Integers = std::vector<std::int64_t>;

// The address of a value inside a Config.
#define RIESZ_FIELD(type, member) (+[](Config& config) -> type& { return config.member; })
#define RIESZ_INTEGER(member, least, most, ...) \
  { #member, RIESZ_FIELD(std::int64_t, member), __VA_ARGS__, least, most, {}, {}, false, false }
#define RIESZ_INTEGERS(member, least, ...) \
  { #member, RIESZ_FIELD(Integers, member), __VA_ARGS__, least, kNoLimit, {}, {}, false, false }
#define RIESZ_NUMBER(member, least, most, ...) \
  { #member, RIESZ_FIELD(double, member), __VA_ARGS__, least, most, {}, {}, false, false }
#define RIESZ_SWITCH(member, ...) \
  { #member, RIESZ_FIELD(bool, member), __VA_ARGS__, 0, 0, {}, {}, false, false }
#define RIESZ_TEXT(member, ...) \
  { #member, RIESZ_FIELD(std::string, member), __VA_ARGS__, 0, 0, {}, {}, false, false }

inline Key choice(Key key, std::vector<std::string> choices) {
  key.choices = std::move(choices);
  return key;
}

inline Key only(const char* choice, std::vector<std::string> values, Key key) {
  key.readers.push_back({choice, std::move(values)});
  return key;
}

inline Key path(Key key) {
  key.path = true;
  return key;
}

inline Key paths(Key key) {
  key.path = key.several = true;
  return key;
}

inline Key path_or_name(Key key) {
  key.path = key.or_name = true;
  return key;
}

}  // namespace riesz::detail
