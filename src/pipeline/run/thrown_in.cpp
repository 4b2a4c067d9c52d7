// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/thrown_in.h"

#include <c10/util/Exception.h>

#include <exception>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"

namespace riesz {
namespace {

/// With the prefix of this process.
std::string prefixed(const std::string& text) {
  try {
    throw_error(text);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void throw_on(const std::string& where) {
  const std::string layer = LayerScope::left_by_exception();
  const std::string place = concat(layer.empty() ? "" : "; in layer ", layer, "; in ", where);
  try {
    throw;
  } catch (const Error& error) {
    LayerScope::forget_exception();
    std::throw_with_nested(Error(error.what() + place));
  } catch (const c10::Error& error) {
    std::throw_with_nested(Error(prefixed(error.what_without_backtrace() + place)));
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(prefixed(error.what() + place)));
  }
}

}  // namespace riesz
