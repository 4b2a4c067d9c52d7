// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "riesz/io/disk/disk_by.h"
#include "riesz/nn/offload/activation_place.h"

namespace riesz {

/// A folder on a disk as the place of activations (`ActivationOffload`). Each worker writes to a file of its
/// own in the folder. It has no name, so it vanishes with the process however that ends. It grows in the
/// first step, and its room is used again in the next ones. It bypasses the page cache (O_DIRECT) where the
/// file system allows it. Memory of n bytes takes ⌈n/4096⌉·4096 bytes of the file. As many are written and
/// read.
/// @throws Error if no file can be made in the folder, or the kernel refuses what `by` names. Later, if the
/// disk is full, or a write or a read fails; the error names the folder and the byte.
std::shared_ptr<ActivationPlace> activations_on_disk(const std::filesystem::path& folder,
                                                     DiskBy by = DiskBy::any);
/// Several folders, such as one on each of a host's disks: they take what is saved in turns.
/// @throws Error also if none is named.
std::shared_ptr<ActivationPlace> activations_on_disk(const std::vector<std::filesystem::path>& folders,
                                                     DiskBy by = DiskBy::any);

namespace detail {

std::shared_ptr<ActivationPlace> activations_on_disk(const std::vector<std::filesystem::path>& folders,
                                                     std::shared_ptr<DiskTransfers> transfers);

}  // namespace detail
}  // namespace riesz
