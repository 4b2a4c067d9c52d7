// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/error.h"

#include <utility>

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

}  // namespace riesz
