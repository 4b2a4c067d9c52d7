// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/byte_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::string_view, 8> kEndings = {".txt", ".md", ".h",     ".cpp",
                                                      ".py",  ".sh", ".cmake", ".toml"};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

/// Has it what a build or a training has made?
bool made(const fs::path& folder) {
  return fs::exists(folder / "CMakeCache.txt") ||
         (fs::exists(folder / "loss.csv") && fs::exists(folder / "config.toml"));
}

std::vector<fs::path> texts(const fs::path& folder) try {
  std::vector<fs::path> found;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::end(entry); ++entry) {
    std::error_code error;
    if (is_hidden(entry->path()) && !entry->is_regular_file(error)) {  // it may be another's
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_directory() && made(entry->path())) entry.disable_recursion_pending();
    const std::string extension = entry->path().extension().string();
    if (entry->is_regular_file() &&
        std::find(kEndings.begin(), kEndings.end(), extension) != kEndings.end()) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
} catch (const fs::filesystem_error& error) {
  throw_error(concat("cannot read all of the folder ", in_quotes(folder.string()), ": ",
                     in_quotes(error.path1().string()), ": ", error.code().message(),
                     "; remove it, make it readable, or name another folder"));
}

}  // namespace

std::string read_bytes(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const std::string name = in_quotes(path.string());
  RIESZ_CHECK(status.type() != fs::file_type::not_found, "there is no file or folder ", name);
  RIESZ_CHECK(fs::status_known(status), "cannot read ", name, ": ", error.message());
  std::string bytes;
  if (fs::is_directory(status)) {
    for (const fs::path& text : texts(path)) bytes += bytes_of_file(text, kAnySize);
    RIESZ_CHECK(!bytes.empty(), "the folder ", name,
                " has no texts (*.txt, *.md, *.h, ...); name a file, or "
                "another folder");
  } else {
    RIESZ_CHECK(fs::is_regular_file(status), name,
                " is neither a file nor a folder; name one that has bytes");
    bytes = bytes_of_file(path, kAnySize);
    RIESZ_CHECK(!bytes.empty(), "the file ", name, " is empty; name one that has bytes to learn from");
  }
  return bytes;
}

}  // namespace riesz
