// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>

#include "riesz/comm/shared/memory.h"

namespace riesz {

/// The memory of a host's status board, zeros at first. It is a `SharedMemory`, which needs no space in a
/// file system. If workers cannot open each other's memory, it is an MPI window (MPI_Win) in /dev/shm. If
/// /dev/shm has no space for that, each worker has memory of its own, and a line on stderr says so. Private
/// to src/comm.
class StatusBoardMemory {
 public:
  /// Collective over the workers of the host. @throws Error if MPI makes no window where there is space for
  /// it.
  StatusBoardMemory(MPI_Comm host, std::size_t bytes);
  /// Collective too if the memory is a window.
  ~StatusBoardMemory();
  StatusBoardMemory(const StatusBoardMemory&) = delete;
  StatusBoardMemory& operator=(const StatusBoardMemory&) = delete;

  std::byte* data() const { return data_; }
  /// True if all workers of the host share one memory.
  bool shared() const { return own_ == nullptr; }

 private:
  bool open(MPI_Comm host, std::size_t bytes);
  void make_window(MPI_Comm host, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::unique_ptr<SharedMemory> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::unique_ptr<std::max_align_t[]> own_;
};

/// An empty text if the file system at `folder` has room for `bytes`; else such as "FOLDER has 4 KiB free,
/// and 64 KiB are needed".
std::string no_room(const std::string& folder, std::size_t bytes);

}  // namespace riesz
