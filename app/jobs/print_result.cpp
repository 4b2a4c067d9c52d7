// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/print_result.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"

namespace riesz::app {

void print_part(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  RIESZ_CHECK(written, "cannot write to standard output: ", std::strerror(errno));
}

void print_note(const std::string& text) {
  if (Runtime::rank() == 0) std::fputs(text.c_str(), stderr);
}

void print_result(const std::string& text) {
  if (Runtime::rank() == 0) print_part(text);
}

}  // namespace riesz::app
