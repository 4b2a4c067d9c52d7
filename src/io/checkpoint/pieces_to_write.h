// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/pieces.h"
#include "riesz/io/checkpoint/unfinished_files.h"
#include "riesz/io/checkpoint/wait_for_writers.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Pieces that were brought to their writers and wait to be written, of two megabytes of the checkpoint. So
/// small vectors are written together, and no worker keeps more of a checkpoint in memory.
class PiecesToWrite {
 public:
  /// `what`: the folder, for errors. All but P must outlive it.
  PiecesToWrite(const Partition& P, std::string what, UnfinishedFiles& files, WriteProgress& progress);

  void take(const Piece& piece) { brought_.push_back(piece); }
  /// Call it on all workers after a vector whose pieces were taken: writes if enough came. Collective over P.
  /// @throws Error on all workers, as `write_together`.
  void after(const WrittenVector& vector);
  /// Writes what is left. Collective over P. @throws Error likewise.
  void write();

 private:
  Partition partition_;
  std::string what_;
  UnfinishedFiles& files_;
  WriteProgress& progress_;
  std::vector<Piece> brought_;
  std::int64_t bytes_ = 0;  // of the checkpoint, alike on all workers
};

}  // namespace riesz
