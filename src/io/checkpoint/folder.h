// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/io/folder_lock.h"

namespace riesz {

/// A folder that is there whole, or as it was before. It is written under another name beside its own,
/// synced, and renamed. So a process that dies at any point leaves the old folder. Where the file system
/// cannot swap two names at once, the old folder is removed just before. One process makes and finishes it;
/// meanwhile no other can begin a folder of that name.
class WholeFolder {
 public:
  /// `replaces`: may it take the place of a folder that is not empty?
  explicit WholeFolder(const std::filesystem::path& path, bool replaces = true);

  /// Where to write it meanwhile: .NAME.unfinished.
  const std::filesystem::path& unfinished() const { return unfinished_; }
  /// Begins it anew, and removes what a killed process left. @throws Error naming the process that is writing
  /// a folder of this name, or what it may not replace.
  void make();
  /// Renames it to its name, in place of the old folder, once all is written and synced.
  void finish();
  /// Removes the unfinished folder, if it was begun here.
  void drop();

 private:
  std::filesystem::path path_;
  std::filesystem::path unfinished_;
  bool replaces_;
  std::optional<FolderLock> lock_;  // from make() on
};

/// The name of a step's checkpoint: checkpoint-STEP.
std::string checkpoint_name(std::int64_t step);

/// The checkpoints in a folder, with their steps, the last one last. Each is whole. None if there is no such
/// folder.
std::vector<std::pair<std::int64_t, std::filesystem::path>> checkpoints_in(
    const std::filesystem::path& folder);

/// Removes all checkpoints in a folder but the last `keep` and that of step `stays`, if there is one, and
/// what was left unfinished. @throws Error naming what cannot be removed.
void keep_checkpoints(const std::filesystem::path& folder, std::int64_t keep, std::int64_t stays = 0);

}  // namespace riesz
