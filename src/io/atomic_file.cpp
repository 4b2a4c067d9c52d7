// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/write_error.h"

namespace riesz {

namespace fs = std::filesystem;

namespace {

/// Where a link leads, also to what is not there yet.
fs::path followed(fs::path path) {
  constexpr int kMost = 40;  // as many as the system follows
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == kMost) throw_error(write_error(path, ELOOP, 0));
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

/// The system's reason (errno) why it failed, or 0.
int write_into(const fs::path& path, int flags, std::string_view contents) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  int reason = file < 0 ? errno : 0;
  const bool syncs = (flags & O_CREAT) != 0;  // a pipe has no disk
  while (reason == 0 && !contents.empty()) {
    const ssize_t done = ::write(file, contents.data(), contents.size());
    if (done >= 0)
      contents.remove_prefix(static_cast<std::size_t>(done));
    else if (errno != EINTR)
      reason = errno;
  }
  // Some file systems sync by themselves, and say EINVAL.
  if (syncs && reason == 0 && ::fsync(file) != 0 && errno != EINVAL) reason = errno;
  if (file >= 0 && ::close(file) != 0 && reason == 0) reason = errno;
  return reason;
}

}  // namespace

void write_file(const fs::path& named, std::string_view contents) {
  const fs::path path = followed(named);
  const auto bytes = static_cast<std::int64_t>(contents.size());
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {  // a pipe or a device, which stays what it is
    const int reason = write_into(path, 0, contents);
    if (reason != 0) throw_error(write_error(named, reason, bytes));
    return;
  }
  fs::path unfinished = path;
  unfinished += concat(".", ::getpid(), ".tmp");
  int reason = write_into(unfinished, O_CREAT | O_TRUNC, contents);
  if (reason == 0) {
    fs::rename(unfinished, path, error);
    reason = error.value();
  }
  if (reason == 0) {
    sync_folder(path.has_parent_path() ? path.parent_path() : ".");
    return;
  }
  const std::string text = write_error(named, reason, bytes);
  fs::remove(unfinished, error);
  throw_error(text);
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
