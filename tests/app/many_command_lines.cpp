// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The program riesz for many command lines, with all commands in it: each is carried out by riesz's own
// main() in a process of its own, which begins with LibTorch loaded. That takes a program most of its time
// where it refuses a word.
//
// A line is read from standard input up to a byte 30, and its parts are set apart by bytes 31: the files for
// the two outputs, how many variables NAME=VALUE follow, these, and the words. The answer is the process's
// status, or minus the signal that ended it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// riesz's own (the linker's --wrap).
extern "C" int __real_main(int argc, char** argv);

namespace {

using Parts = std::vector<std::string>;

/// The next line's; none at the end.
Parts read_line() {
  Parts parts{""};
  for (int byte = std::getchar(); byte != EOF; byte = std::getchar()) {
    if (byte == 30) return parts;
    if (byte == 31)
      parts.emplace_back();
    else
      parts.back().push_back(static_cast<char>(byte));
  }
  return {};
}

void point(int file, const std::string& path, int flags) {
  const int opened = ::open(path.c_str(), flags, 0644);
  if (opened < 0 || ::dup2(opened, file) < 0) std::_Exit(127);
  if (opened != file) ::close(opened);
}

/// In the process of one line.
int carry_out(Parts& parts) {
  point(0, "/dev/null", O_RDONLY);
  point(1, parts.at(0), O_WRONLY | O_CREAT | O_TRUNC);
  point(2, parts.at(1), O_WRONLY | O_CREAT | O_TRUNC);
  const std::size_t begin = 3 + std::stoul(parts.at(2));
  for (std::size_t i = 3; i < begin; ++i) ::putenv(parts.at(i).data());
  std::string program = "riesz";
  std::vector<char*> words{program.data()};
  for (std::size_t i = begin; i < parts.size(); ++i) words.push_back(parts[i].data());
  words.push_back(nullptr);
  return __real_main(static_cast<int>(words.size()) - 1, words.data());
}

}  // namespace

extern "C" int __wrap_main(int, char**) {
  for (Parts parts = read_line(); !parts.empty(); parts = read_line()) {
    const pid_t process = ::fork();
    if (process == 0) std::exit(carry_out(parts));
    int status = 0;
    if (process < 0 || ::waitpid(process, &status, 0) != process) return 1;
    std::printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    std::fflush(stdout);
  }
  return 0;
}
