// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace riesz {

/// A lock of a folder: while it lives, no other process can lock the folder. It is a system lock on the file
/// ".lock" in the folder, and ends with the process. The file that a killed job leaves behind locks nothing.
///
/// Where the file system has no such locks, a file ".lock.held" is the lock: it names the process that has
/// made it. A killed process leaves it behind. It is removed if that process is certainly gone, which only
/// its own host can tell.
class FolderLock {
 public:
  /// The folder must exist. @throws Error naming the process that has it, or if the file cannot be made;
  /// without system locks also where nobody can tell whether that process lives, naming the file to remove.
  explicit FolderLock(const std::filesystem::path& folder) : FolderLock(folder, folder / ".lock") {}
  /// By another file, such as one beside a folder that is yet to come.
  FolderLock(const std::filesystem::path& folder, const std::filesystem::path& file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  bool take(const std::filesystem::path& folder);
  bool take_by_name(const std::filesystem::path& folder);

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace riesz
