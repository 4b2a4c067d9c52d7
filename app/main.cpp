// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "riesz/app/command_line.h"
#include "riesz/app/launch.h"
#include "riesz/app/tools.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/start/launcher.h"

namespace riesz::app {
namespace {

/// Prints once, whatever the number of ranks.
void say(const CommandLine::End& end) {
  if (launched_rank().value_or(0) == 0) std::fputs(end.text.c_str(), end.status == 0 ? stdout : stderr);
}

/// The status, or that of a failure where what was printed could not be written.
int with_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "riesz: cannot write to standard output: %s\n", std::strerror(errno));
  return status == 0 ? kReported : status;
}

/// Where an output is closed, the first file that is opened would take its place.
void hold_outputs() {
  for (int file = 0; file <= 2; ++file) {
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
  }
}

int run(int argc, char** argv) {
  hold_outputs();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error that names it
  CommandLine line;
  if (const auto end = line.read(argc, argv)) return say(*end), end->status;
  Command& command = line.command();
  if (!command.is_here())
    return say({2, "riesz: " + become_tools(command.options().get_name(), argv) + "\n"}), 2;
  if (command.ranks())
    return say({2, "riesz: " + launch(command.options(), *command.ranks(), argc, argv) + "\n"}), 2;
  return run_main(argc, argv, [&](int, char**) { return command.carry_out(), 0; });
}

}  // namespace
}  // namespace riesz::app

int main(int argc, char** argv) { riesz::leave(riesz::app::with_output(riesz::app::run(argc, argv))); }
