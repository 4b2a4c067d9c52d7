// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/write_error.h"

namespace riesz {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::string_view contents) {
  fs::path unfinished = path;
  unfinished += concat(".", ::getpid(), ".tmp");
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  const int reason = errno;
  std::error_code error;
  if (file) fs::rename(unfinished, path, error);
  if (!file || error) {
    const std::string text =
        write_error(path, error ? error.value() : reason, static_cast<std::int64_t>(contents.size()));
    fs::remove(unfinished, error);
    throw_error(text);
  }
}

void check_folder_can_be_written(const fs::path& folder) {
  std::error_code error;
  fs::path place = fs::absolute(folder, error);
  while (place.has_relative_path() && fs::symlink_status(place, error).type() == fs::file_type::not_found) {
    place = place.parent_path();
  }
  const std::string what =
      "cannot write into the folder " + in_quotes(folder.string()) + ": " + in_quotes(place.string());
  RIESZ_CHECK(fs::is_directory(place, error), what, " is no folder; choose another");
  RIESZ_CHECK(::access(place.c_str(), W_OK | X_OK) == 0, what, ": ", std::strerror(errno),
              "; choose another");
}

}  // namespace riesz
