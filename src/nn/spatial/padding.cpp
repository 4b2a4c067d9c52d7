// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/padding.h"

namespace riesz {

std::string to_string(PaddingMode mode) {
  constexpr const char* names[] = {"zeros", "circular", "reflect", "replicate"};
  return names[static_cast<int>(mode)];
}

}  // namespace riesz
