// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/tools.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz::app {

std::string become_tools(const std::string& command, char** argv) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);  // no link, whatever was typed
  const std::string tools = (self.parent_path() / "riesz-tools").string();
  ::execv(tools.c_str(), argv);
  if (errno == ENOENT)
    return concat(command, " is in the program riesz-tools, and there is no ", in_quotes(tools),
                  "; in a clone build it: cmake --build build/release --target riesz_tools");
  return concat(command, ": cannot start ", in_quotes(tools), ": ", std::strerror(errno));
}

}  // namespace riesz::app
