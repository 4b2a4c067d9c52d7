// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/call_state.h"

namespace riesz::detail {

CallState& call_state() {
  static constinit thread_local CallState state;
  return state;
}

}  // namespace riesz::detail
