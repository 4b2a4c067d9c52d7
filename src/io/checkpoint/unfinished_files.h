// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/pieces.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/wait_for_writers.h"
#include "riesz/io/file.h"

namespace riesz {

/// Makes the folder anew and checks for room. One worker calls it, before any opens its files.
/// @throws Error where it cannot, or where there is no room.
void begin_folder(WholeFolder& folder, const CheckpointPlan& plan,
                  const std::map<std::string, std::string>& texts);

/// The files of an unfinished checkpoint, open for one of its writers. The first writer makes them; no writer
/// waits for another. Local. Each call @throws Error naming the file.
class UnfinishedFiles {
 public:
  /// `progress` is told of each piece, and must outlive this.
  UnfinishedFiles(const std::filesystem::path& folder, const CheckpointPlan& plan, WriteProgress& progress);

  /// Writes the rest, by one of the writers: texts, indices, and the files' heads and lengths.
  void write_rest(const CheckpointPlan& plan, const std::map<std::string, std::string>& texts) const;
  /// Writes a piece. After every two megabytes it starts their way to the disk (`File::begin_sync`), so
  /// `sync` waits little.
  void write(const Piece& piece);
  /// Returns when all that was written is on the disk.
  void sync() const;

 private:
  std::filesystem::path folder_;
  WriteProgress& progress_;
  std::vector<File> files_;
  std::int64_t not_begun_ = 0;  // bytes written since `begin_sync`
};

}  // namespace riesz
