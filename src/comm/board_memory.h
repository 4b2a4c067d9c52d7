// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>

#include "riesz/comm/shared_memory.h"

namespace riesz {

/// What the status board of a host lies in, zeros at first: memory that needs no room in any file system; a
/// window of MPI's where workers cannot open each other's memory; and where /dev/shm has no room for that,
/// each worker's own, which is said. Private to this room.
class BoardMemory {
 public:
  /// Collective over the workers of the host. @throws Error if MPI makes no window where there is room for
  /// it.
  BoardMemory(MPI_Comm host, std::size_t bytes);
  /// Collective too, where it is a window.
  ~BoardMemory();
  BoardMemory(const BoardMemory&) = delete;
  BoardMemory& operator=(const BoardMemory&) = delete;

  std::byte* data() const { return data_; }
  /// Do all workers of the host have the same?
  bool shared() const { return own_ == nullptr; }

 private:
  bool open(MPI_Comm host, std::size_t bytes);
  void make_window(MPI_Comm host, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::unique_ptr<SharedMemory> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::unique_ptr<std::max_align_t[]> own_;
};

/// "" if the file system at `folder` has room for so many bytes, else "FOLDER has 4 KiB free, and 64 KiB are
/// needed".
std::string no_room(const std::string& folder, std::size_t bytes);

}  // namespace riesz
