// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "riesz/io/disk/disk_by.h"
#include "riesz/optim/pages.h"

namespace riesz {

struct DiskOptions {
  std::size_t depth = 2;                            ///< pages read ahead, and as many written behind
  std::int64_t page_bytes = std::int64_t{4} << 20;  ///< a multiple of 4096
  DiskBy by = DiskBy::any;
};

/// A folder on a disk as the place of an optimizer's state:
///
///     zero.store()->keep_state_in(disk_place("/scratch"));
///     AdamW optimizer(zero.store());  // the same bits as without
///
/// Each worker keeps its state in files of its own in the folder. They have no names, so they vanish with
/// the process however it ends, and no other process can change them. The room is reserved when the optimizer
/// is made. Files bypass the page cache (O_DIRECT) where the file system allows it. In memory are 2·depth + 1
/// pages of each number that the optimizer keeps for an element. Optimizers of one place make their steps one
/// at a time; those on several threads take a place each.
/// @throws Error if no file can be made in the folder, or the kernel refuses what `by` names.
std::shared_ptr<StatePlace> disk_place(const std::filesystem::path& folder, const DiskOptions& options = {});
/// Several folders, such as one on each of a host's disks: pages go to them in turns, so all disks work at
/// once. Each needs room for its share.
std::shared_ptr<StatePlace> disk_place(const std::vector<std::filesystem::path>& folders,
                                       const DiskOptions& options = {});

}  // namespace riesz
