// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/error.h"

#include <sstream>
#include <utility>

#include "riesz/comm/descriptions.h"
#include "riesz/comm/layer_scope.h"

namespace riesz {
namespace {

std::string& prefix() {
  static std::string text;
  return text;
}

}  // namespace

void set_error_prefix(std::string text) { prefix() = std::move(text); }

void throw_error(const std::string& message) {
  LayerScope::forget_exception();
  throw Error(prefix() + message);
}

namespace detail {

void Part::write_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

std::string joined_parts(std::initializer_list<Part> parts) {
  count_text();
  std::ostringstream out;
  for (const Part& part : parts) part.write(out);
  return out.str();
}

void throw_parts(std::initializer_list<Part> parts) { throw_error(joined_parts(parts)); }

}  // namespace detail

}  // namespace riesz
