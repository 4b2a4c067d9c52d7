// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/print_result.h"

#include <cstdio>

#include "riesz/comm/runtime.h"

namespace riesz::app {

void print_result(const std::string& text) {
  if (Runtime::rank() == 0) std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace riesz::app
