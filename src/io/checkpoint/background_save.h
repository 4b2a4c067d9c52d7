// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "riesz/io/checkpoint/save.h"

namespace riesz {

/// A checkpoint that is written while its workers go on: the same bytes, as crash-safe, as `save_checkpoint`
/// writes. Each worker copies what it is to write, and a thread of its own writes the copy. That thread works
/// with files alone. What workers must agree on, such as that all have written, they agree on in `go_on`,
/// which a training calls after each step.
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
  /// Waits for this worker's thread alone. What is not there yet will not be, and what was there stays.
  ~BackgroundSave();
  BackgroundSave(BackgroundSave&&) noexcept;

  /// Goes on as far as it can without waiting for a disk. Is the checkpoint there? The same answer on all
  /// workers, and yes at the second call at the earliest: when all have written, the first worker renames the
  /// folder. Collective over P. Cost: as `every_flag`.
  /// @throws Error on all workers, naming the file, if any could not write; then it is over, and what was
  /// there stays.
  bool go_on();
  /// Waits until it is there. Collective over P. @throws Error as `go_on`.
  void wait();

  /// The size of this worker's copy when it was made.
  std::int64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
