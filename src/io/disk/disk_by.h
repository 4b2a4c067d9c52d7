// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace riesz {

class DiskTransfers;

/// By what a disk is read and written while the worker computes.
enum class DiskBy {
  any,      ///< io_uring where the kernel allows it, else threads
  uring,    ///< io_uring of Linux 5.11 or later
  threads,  ///< threads of this process
};

namespace detail {

/// @throws Error where the kernel refuses what `by` names.
std::shared_ptr<DiskTransfers> disk_transfers(DiskBy by, std::size_t threads);

}  // namespace detail
}  // namespace riesz
