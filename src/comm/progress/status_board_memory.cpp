// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/status_board_memory.h"

#include <sys/statvfs.h>

#include <cstdio>

#include "riesz/comm/error.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {
namespace {

constexpr const char* kFolder = "/dev/shm";  // where Open MPI and MPICH put windows
/// What MPI keeps beside a window.
constexpr std::size_t kBeside = std::size_t{64} << 10;

bool is_first(MPI_Comm host) {
  int place = 0;
  RIESZ_MPI(MPI_Comm_rank(host, &place));
  return place == 0;
}

/// Of the first worker of the host, for all.
bool agreed(MPI_Comm host, bool mine) {
  int value = mine ? 1 : 0;
  RIESZ_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, host));
  return value != 0;
}

bool all(MPI_Comm host, bool mine) {
  int value = mine ? 1 : 0;
  RIESZ_MPI(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, host));
  return value != 0;
}

/// nullptr if the system gives none: there are other ways.
std::unique_ptr<SharedMemory> made(std::size_t bytes) {
  try {
    return SharedMemory::make(bytes);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::string no_room(const std::string& folder, std::size_t bytes) {
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0) return "";
  const std::size_t free = std::size_t{status.f_bavail} * status.f_frsize;
  if (free >= bytes) return "";
  return concat(folder, " has ", free >> 10, " KiB free, and ", bytes >> 10, " KiB are needed");
}

StatusBoardMemory::StatusBoardMemory(MPI_Comm host, std::size_t bytes) {
  if (open(host, bytes)) return;
  const std::string problem = no_room(kFolder, kBeside + bytes);
  if (agreed(host, problem.empty())) {
    make_window(host, bytes);
    return;
  }
  own_ = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
  data_ = reinterpret_cast<std::byte*>(own_.get());
  if (is_first(host))
    std::fprintf(
        stderr,
        "note: the workers of this host cannot open each other's memory, and %s, so each alone reports "
        "who does not come, and none sees what the others do\n",
        problem.c_str());
}

StatusBoardMemory::~StatusBoardMemory() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

bool StatusBoardMemory::open(MPI_Comm host, std::size_t bytes) {
  const bool first = is_first(host);
  SharedMemory::Address address;
  if (first) memory_ = made(bytes);
  if (memory_) address = memory_->address();
  RIESZ_MPI(MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, host));
  if (!first && address.descriptor >= 0) memory_ = SharedMemory::open(address);
  if (!all(host, memory_ != nullptr)) {
    memory_ = nullptr;
    return false;
  }
  data_ = memory_->data();
  return true;
}

void StatusBoardMemory::make_window(MPI_Comm host, std::size_t bytes) {
  void* memory = nullptr;
  const auto mine = static_cast<MPI_Aint>(is_first(host) ? bytes : 0);
  RIESZ_MPI(MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, host, static_cast<void*>(&memory), &window_));
  MPI_Aint size = 0;
  int unit = 0;
  RIESZ_MPI(MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&memory)));
  data_ = static_cast<std::byte*>(memory);
}

}  // namespace riesz
