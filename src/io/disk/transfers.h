// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "riesz/io/disk/unnamed_file.h"

namespace riesz {

/// A read or a write of a file's bytes. It keeps the file and the memory until it has ended.
struct DiskTransfer {
  std::shared_ptr<const UnnamedFile> file;
  bool writes = false;
  std::int64_t at = 0;                ///< in the file
  std::shared_ptr<std::byte> memory;  ///< from its begin on
  std::int64_t count = 0;
};

/// How a transfer has ended: the bytes that were moved, and if they are not all, the system's reason (errno);
/// 0: the file ends there, or takes no more.
struct DiskTransferEnd {
  std::int64_t moved = 0;
  int reason = 0;
};

/// Transfers that go on while their caller computes. One thread uses it.
class DiskTransfers {
 public:
  virtual ~DiskTransfers() = default;

  /// Begins a transfer. Returns its number.
  virtual std::uint64_t begin(DiskTransfer transfer) = 0;
  /// Has it ended? Once it says so, it has forgotten it. Never waits.
  virtual std::optional<DiskTransferEnd> ended(std::uint64_t number) = 0;
  virtual const char* name() const = 0;
};

/// By threads that read and write.
std::shared_ptr<DiskTransfers> transfers_by_threads(std::size_t threads);
/// By io_uring; nullptr where the kernel is too old or does not allow it. `entries`: of its queue of
/// requests; any number may be under way.
std::shared_ptr<DiskTransfers> transfers_by_uring(unsigned entries = 64);

}  // namespace riesz
