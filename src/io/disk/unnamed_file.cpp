// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

namespace riesz {
namespace {

/// Whether the system has no files without names in this folder, for this reason.
bool needs_a_name(int reason) { return reason == EOPNOTSUPP || reason == EISDIR || reason == ENOENT; }

/// The bytes that a folder's file system has room for; nothing where it does not say.
std::optional<std::uint64_t> room_in(const std::filesystem::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

/// The system's reason (errno) why it gives a file no room, or 0.
int given_room(int file, std::int64_t bytes) {
  int reason = 0;
  do {
    reason = ::fallocate(file, 0, 0, bytes) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason != EOPNOTSUPP && reason != ENOSYS) return reason;
  return ::ftruncate(file, bytes) == 0 ? 0 : errno;
}

}  // namespace

UnnamedFile::UnnamedFile(std::string what, const std::filesystem::path& folder, std::int64_t bytes)
    : what_(std::move(what)), folder_(folder), bytes_(bytes) {
  open();
  try {
    reserve(bytes);
  } catch (...) {
    ::close(file_);
    throw;
  }
  try_direct();
}

UnnamedFile::~UnnamedFile() { ::close(file_); }

std::string UnnamedFile::cannot(const char* what) const {
  return concat(what_, ": cannot ", what, " its file in ", in_quotes(folder_.string()), ": ");
}

void UnnamedFile::open() {
  file_ = ::open(folder_.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0 && needs_a_name(errno)) {
    std::string name = (folder_ / ".riesz-state-XXXXXX").string();
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) ::unlink(name.c_str());
  }
  if (file_ < 0) {
    const int reason = errno;
    throw_error(concat(cannot("make"), std::strerror(reason), "; choose another folder"));
  }
}

void UnnamedFile::grow(std::int64_t bytes) {
  const std::int64_t more = bytes - std::exchange(bytes_, bytes);
  try {
    reserve(more);
  } catch (...) {
    bytes_ = bytes - more;
    throw;
  }
}

/// Of its bytes, so many more. Looks first whether there is room: a file that gets some of it would fill the
/// disk of others for a moment.
void UnnamedFile::reserve(std::int64_t more) {
  if (more <= 0) return;
  const std::optional<std::uint64_t> room = room_in(folder_);
  const bool fits = !room || static_cast<std::uint64_t>(more) <= *room;
  const int reason = fits ? given_room(file_, bytes_) : ENOSPC;
  const bool full = room && (reason == ENOSPC || reason == EDQUOT);
  RIESZ_CHECK(reason == 0, what_, ": cannot reserve ", more, " bytes in ", in_quotes(folder_.string()), ": ",
              std::strerror(reason), full ? concat(", its file system has room for ", *room) : "",
              "; make room there, or choose another folder");
}

/// A file system may refuse to bypass the page cache when a file is told so, or only when it is read.
void UnnamedFile::try_direct() {
  const int flags = ::fcntl(file_, F_GETFL);
  if (bytes_ < kDiskLine || ::fcntl(file_, F_SETFL, flags | O_DIRECT) != 0) return;
  void* const line = ::mmap(nullptr, kDiskLine, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  direct_ = line != MAP_FAILED && ::pread(file_, line, kDiskLine, 0) == kDiskLine;
  if (line != MAP_FAILED) ::munmap(line, kDiskLine);
  if (!direct_) ::fcntl(file_, F_SETFL, flags);
}

}  // namespace riesz
