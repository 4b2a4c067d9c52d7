// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/transfers.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "riesz/comm/error.h"
#include "riesz/comm/wait.h"
#include "riesz/io/disk/disk_by.h"

namespace riesz {
namespace {

/// Between two looks at what a disk does.
constexpr std::chrono::microseconds kLook(50);

}  // namespace

DiskTransferEnd await_end(DiskTransfers& transfers, std::uint64_t number,
                          const std::function<std::string()>& operation) {
  std::optional<DiskTransferEnd> end = transfers.ended(number);
  if (end) return *end;
  const auto done = [&] {
    std::this_thread::sleep_for(kLook);  // a disk needs no core, and others may
    end = transfers.ended(number);
    return end.has_value();
  };
  wait_here(operation(), done, [] { return std::vector<int>(); });
  return *end;
}

std::string what_went_wrong(const DiskTransferEnd& end, std::int64_t at, bool reads,
                            const UnnamedFile& file) {
  const std::string byte = concat("byte ", at + end.moved, " of ", file.bytes());
  return concat(file.cannot(reads ? "read" : "write"), end.reason != 0
                                                           ? concat(std::strerror(end.reason), ", at ", byte)
                                                       : reads ? concat("it was cut off: it ends at ", byte)
                                                               : concat("it takes no more than ", byte));
}

std::shared_ptr<DiskTransfers> detail::disk_transfers(DiskBy by, std::size_t threads) {
  std::shared_ptr<DiskTransfers> made;
  if (by != DiskBy::threads) made = transfers_by_uring();
  RIESZ_CHECK(
      made || by != DiskBy::uring,
      "the kernel of this host refuses io_uring; read and write the disk by threads (DiskBy::threads)");
  return made ? made : transfers_by_threads(threads);
}

}  // namespace riesz
