// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/write_error.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

std::string limit_text() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return concat(" (this process may write files of at most ", limit.rlim_cur,
                " bytes; raise it by ulimit -f)");
}

std::string room_text(const std::filesystem::path& path, std::int64_t bytes) {
  struct statvfs status {};
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::statvfs(folder.c_str(), &status) != 0) return "";
  return concat(" (", bytes, " bytes were to be written, and its file system has room for ",
                std::uint64_t{status.f_bavail} * status.f_frsize, ")");
}

}  // namespace

std::string write_error(const std::filesystem::path& path, int reason, std::int64_t bytes) {
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return concat("cannot write ", in_quotes(path.string()), ": ", std::strerror(reason),
                full              ? room_text(path, bytes)
                : reason == EFBIG ? limit_text()
                                  : "");
}

}  // namespace riesz
