// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace riesz {

/// A lock of a folder: while it lives, no other process can lock the folder. It is a system lock on the file
/// ".lock" in the folder, and ends with the process. The file that a killed job leaves behind locks nothing.
class FolderLock {
 public:
  /// The folder must exist. @throws Error naming the process that has it, or if the file cannot be made.
  explicit FolderLock(const std::filesystem::path& folder) : FolderLock(folder, folder / ".lock") {}
  /// By another file, such as one beside a folder that is yet to come.
  FolderLock(const std::filesystem::path& folder, const std::filesystem::path& file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// False where the file system has no locks: then nobody is kept out.
  bool keeps_others_out() const { return taken_; }

 private:
  bool take(const std::filesystem::path& folder);

  std::filesystem::path path_;
  int file_ = -1;
  bool taken_ = false;
};

}  // namespace riesz
