// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "riesz/io/checkpoint/save.h"

namespace riesz {

/// A checkpoint that is written while its workers go on: the same bytes, as crash-safe, as `save_checkpoint`
/// writes. Each worker copies what it is to write, and a thread of its own writes the copy. These threads
/// meet in a channel of their own (`SideChannel`): when all have written, the first worker's renames the
/// folder. So the checkpoint is finished whatever its workers do meanwhile, also where one of them has met an
/// error, as long as all their processes live.
///
///     BackgroundSave save(folder, world, contents);
///     while (!save.go_on()) train();
class BackgroundSave {
 public:
  /// Copies and begins; when it returns, the state may change. `then` is called by the first worker's thread
  /// when the checkpoint is there, such as to remove an older one. Collective over P. Cost: a copy of what
  /// this worker writes, about 1/p of the checkpoint, until it is written.
  /// @throws Error on all workers, with nothing changed, if a vector is incomplete or there is no room.
  BackgroundSave(const std::filesystem::path& folder, const Partition& P, const CheckpointContents& contents,
                 const std::function<void()>& then = {}, const SaveOptions& options = {});
  /// As `finish`.
  ~BackgroundSave();
  BackgroundSave(BackgroundSave&&) noexcept;

  /// Is it over on all workers, and so the checkpoint there? The same answer on all. Never waits for a disk.
  /// Collective over P. Cost: as `every_flag`.
  /// @throws Error on all workers, naming the file, if any could not write; what was there stays then.
  bool go_on();
  /// Waits until it is there, however slow a disk is; one that takes nothing for a deadline ends the job.
  /// Collective over P. @throws Error as `go_on`.
  void wait();
  /// Waits for this worker's thread, and so for those of the others, until the deadline (where there is none,
  /// ten minutes) at the latest, and no longer for one of this host whose process is gone. Not
  /// collective: for a worker that has met an error, which the others may not have met. Returns "", or why
  /// the checkpoint is not there, or why `then` has failed.
  std::string finish();

  /// The size of this worker's copy when it was made.
  std::int64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
