// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "riesz/io/disk/disk_place.h"
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

/// Waits until it has ended. The wait is on the status board, by the name that `operation` gives, and has the
/// deadline of all waits.
DiskTransferEnd await_end(DiskTransfers& transfers, std::uint64_t number,
                          const std::function<std::string()>& operation);
/// Why not all bytes of a transfer at byte `at` of the file were moved, for an error.
std::string what_went_wrong(const DiskTransferEnd& end, std::int64_t at, bool reads, const UnnamedFile& file);

/// By threads that read and write.
std::shared_ptr<DiskTransfers> transfers_by_threads(std::size_t threads);
/// By io_uring; nullptr where the kernel is too old or does not allow it. `entries`: of its queue of
/// requests; any number may be under way.
std::shared_ptr<DiskTransfers> transfers_by_uring(unsigned entries = 64);
/// By what `by` names, for 2·depth + 1 pages at once. @throws Error if the kernel refuses it.
std::shared_ptr<DiskTransfers> transfers_by(DiskBy by, std::size_t depth);

}  // namespace riesz
