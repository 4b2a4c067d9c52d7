// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transport.h"

namespace riesz {

const std::vector<int>& Transport::hosts() const {
  static const std::vector<int> one;
  return one;
}

}  // namespace riesz
