// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return concat("process ", ::getpid(), " on ", host.data());
}

std::string first_line(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line.empty() ? "another process" : line;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, const std::filesystem::path& file) : path_(file) {
  while (!take(folder)) {
  }
}

/// False where the last holder has removed the file in between.
bool FolderLock::take(const std::filesystem::path& folder) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  RIESZ_CHECK(file_ >= 0, "cannot write ", in_quotes(path_.string()), ": ", std::strerror(errno));
  taken_ = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  if (!taken_ && errno == EWOULDBLOCK) {
    ::close(file_);
    throw_error(concat("the folder ", in_quotes(folder.string()),
                       " is in use by another job: ", in_short(first_line(path_)),
                       "; two jobs would mix their results there: wait for it, or choose another folder"));
  }
  struct stat mine {};
  struct stat there {};
  const bool same = ::fstat(file_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
  if (taken_ && !same) {
    ::close(file_);
    return false;
  }
  // For people alone: where it cannot be written, such as on a full disk, the lock holds all the same.
  std::ofstream(path_, std::ios::trunc) << this_process() << "\n";
  return true;
}

FolderLock::~FolderLock() {
  if (taken_) ::unlink(path_.c_str());
  ::close(file_);
}

}  // namespace riesz
