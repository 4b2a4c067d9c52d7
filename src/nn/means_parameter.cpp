// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/means_parameter.h"

#include <cstddef>

#include "riesz/nn/names.h"

namespace riesz {

bool detail::means_parameter(const std::string& pattern, const std::string& name) {
  for (std::size_t end = name.find('.'); end != std::string::npos; end = name.find('.', end + 1))
    if (name_matches(pattern, name.substr(0, end))) return true;
  return name_matches(pattern, name);
}

}  // namespace riesz
