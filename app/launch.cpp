// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/launch.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "riesz/io/escaped.h"

namespace riesz::app {
namespace {

namespace fs = std::filesystem;

/// Beside the installed program it is riesz-mpirun; in a build's folder, mpirun above the program's.
fs::path find_launcher() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / "riesz-mpirun", folder.parent_path() / "mpirun"}) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// The words but for -n N, -nN, --ranks N and --ranks=N before a "--".
std::vector<std::string> without_ranks(int argc, char** argv) {
  std::vector<std::string> words;
  bool options = true;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    options = options && word != "--";
    if (options && (word == "-n" || word == "--ranks")) {
      ++i;
      continue;
    }
    const bool joined = word.starts_with("--ranks=") || (word.starts_with("-n") && word.size() > 2);
    if (!options || !joined) words.emplace_back(word);
  }
  return words;
}

}  // namespace

std::string launch(std::int64_t ranks, int argc, char** argv) {
  const fs::path launcher = find_launcher();
  if (launcher.empty())
    return "-n " + std::to_string(ranks) +
           ": there is no riesz-mpirun beside this program; start it by your MPI's launcher, without -n";
  std::error_code error;
  std::vector<std::string> words{launcher.string(), "-n", std::to_string(ranks)};
  for (std::string& word : without_ranks(argc, argv)) words.push_back(std::move(word));
  words[3] = fs::read_symlink("/proc/self/exe", error).string();
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(raw[0], raw.data());
  return "cannot start " + in_quotes(launcher.string()) + ": " + std::strerror(errno);
}

}  // namespace riesz::app
