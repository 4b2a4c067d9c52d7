// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/launch.h"

#include <unistd.h>

#include <algorithm>
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

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The words but for -n N, -nN, --ranks N and --ranks=N before a "--".
std::vector<std::string> without_ranks(const CLI::App& command, const std::vector<std::string>& all) {
  std::vector<std::string> words;
  const std::size_t end = static_cast<std::size_t>(std::find(all.begin(), all.end(), "--") - all.begin());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view word = all[i];
    const bool option = i < end && !is_value(command, all, i);
    const bool joined = word.starts_with("--ranks=") || (word.starts_with("-n") && is_number(word.substr(2)));
    if (option && (word == "-n" || word == "--ranks"))
      ++i;
    else if (!option || !joined)
      words.emplace_back(word);
  }
  return words;
}

}  // namespace

bool is_value(const CLI::App& command, const std::vector<std::string>& words, std::size_t i) {
  if (i == 0 || !words[i - 1].starts_with("-")) return false;
  const CLI::Option* option = command.get_option_no_throw(words[i - 1]);
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::string launch(const CLI::App& command, std::int64_t ranks, int argc, char** argv) {
  const fs::path launcher = find_launcher();
  if (launcher.empty())
    return "-n " + std::to_string(ranks) +
           ": there is no riesz-mpirun beside this program; start it by your MPI's launcher, without -n";
  std::error_code error;
  std::vector<std::string> words{launcher.string(), "-n", std::to_string(ranks)};
  for (std::string& word : without_ranks(command, {argv, argv + argc})) words.push_back(std::move(word));
  if (std::find(words.begin(), words.end(), ":") != words.end())
    return "-n " + std::to_string(ranks) +
           ": a word ':' parts programs for the launcher; write it behind an option's "
           "'=', or start the program by riesz-mpirun -n " +
           std::to_string(ranks);
  words[3] = fs::read_symlink("/proc/self/exe", error).string();
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(raw[0], raw.data());
  return "cannot start " + in_quotes(launcher.string()) + ": " + std::strerror(errno);
}

}  // namespace riesz::app
