// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/lock_holder.h"

namespace riesz {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::string in_use(const std::filesystem::path& folder, const std::string& holder) {
  return concat("the folder ", in_quotes(folder.string()),
                " is in use by another job: ", in_short(name_of_holder(holder)),
                "; two jobs would mix their results there: wait for it, or choose another folder");
}

/// Removes the file of a process that is gone, unless another job has been faster. What is renamed is looked
/// at again: it may be a new one.
void remove_left_behind(const std::filesystem::path& file, const std::string& holder) {
  const std::filesystem::path aside = file.string() + concat(".", ::getpid());
  if (::rename(file.c_str(), aside.c_str()) != 0) return;
  if (first_line(aside) == holder)
    ::unlink(aside.c_str());
  else
    ::rename(aside.c_str(), file.c_str());
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
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const bool is_held = errno == EWOULDBLOCK;
    ::close(file_);
    if (is_held) throw_error(in_use(folder, first_line(path_)));
    ::unlink(path_.c_str());
    path_ += ".held";
    while (!take_by_name(folder)) {
    }
    return true;
  }
  struct stat mine {};
  struct stat there {};
  const bool same = ::fstat(file_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 &&
                    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
  if (!same) {
    ::close(file_);
    return false;
  }
  // For people alone: where it cannot be written, such as on a full disk, the lock holds all the same.
  std::ofstream(path_, std::ios::trunc) << lock_holder() << "\n";
  return true;
}

/// False where the file was of a process that is gone.
bool FolderLock::take_by_name(const std::filesystem::path& folder) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0 && errno == EEXIST) {
    const std::string holder = first_line(path_);
    if (is_gone(holder)) {
      remove_left_behind(path_, holder);
      return false;
    }
    throw_error(concat(in_use(folder, holder),
                       "; the file system has no locks: if that job has ended, remove ",
                       in_quotes(path_.string())));
  }
  RIESZ_CHECK(file_ >= 0, "cannot write ", in_quotes(path_.string()), ": ", std::strerror(errno));
  std::ofstream(path_, std::ios::trunc) << lock_holder() << "\n";
  return true;
}

FolderLock::~FolderLock() {
  ::unlink(path_.c_str());
  ::close(file_);
}

}  // namespace riesz
