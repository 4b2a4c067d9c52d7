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

/// A checkpoint that is written in the background, with the same bytes and crash-safety as `save_checkpoint`.
/// Each worker copies what it must write, and a thread of its own writes the copy. State on a disk or a host
/// is not copied to memory. It is written before the call returns, and the thread waits for the disk. The
/// threads communicate in a channel of their own (`SideChannel`); when all have written, the first worker's
/// thread renames the folder. So the checkpoint is finished whatever its workers do meanwhile, even after an
/// error on one, as long as all their processes live.
///
///     BackgroundSave save(folder, world, contents);
///     while (!save.go_on()) train();
class BackgroundSave {
 public:
  /// Copies the state and begins; when it returns, the state may change. The first worker's thread calls
  /// `then` when the checkpoint is there, such as to remove an older one. Collective over P. Cost: a copy of
  /// what this worker writes, about 1/p of the checkpoint, until written. Where state lies elsewhere on any
  /// worker, a copy of values alone, and the time in which all other vectors are read and written.
  /// @throws Error on all workers, with nothing changed, if a vector is incomplete or there is no room.
  BackgroundSave(const std::filesystem::path& folder, const Partition& P, const CheckpointContents& contents,
                 const std::function<void()>& then = {}, const SaveOptions& options = {});
  /// As `finish`.
  ~BackgroundSave();
  BackgroundSave(BackgroundSave&&) noexcept;

  /// Is the checkpoint finished on all workers? The same answer on all. Never waits for a disk. Collective
  /// over P. Cost: as `every_flag`.
  /// @throws Error on all workers, naming the file, if any could not write; the old folder stays then.
  bool go_on();
  /// Waits until the checkpoint is there, however slow a disk is. A disk that takes nothing for a deadline
  /// ends the job. Collective over P. @throws Error as `go_on`.
  void wait();
  /// Waits for this worker's thread, and so for the other workers' threads. It waits at most until the
  /// deadline (without one, ten minutes), and not for a process of this host that is gone. Not collective:
  /// for a worker after an error that the others may not have. Returns "", or why the checkpoint is not
  /// there, or why `then` has failed.
  std::string finish();

  /// The size of this worker's copy when it was made.
  std::int64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
