// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string_view>

namespace riesz {

/// Writes a whole file, or leaves the old one: it writes a neighbouring file and renames that when it is
/// complete. A link stays, and the file that it leads to is written. A pipe or a device stays too: the
/// contents are written into it. Returns when a file's bytes and its name are on the disk.
/// @throws Error naming the path and the system's reason.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// Checks that a folder of this path can be written, as it is or once it is made. Makes nothing.
/// @throws Error naming what is in the way: a file where a folder is needed, or a folder without permission.
void check_folder_can_be_written(const std::filesystem::path& folder);

}  // namespace riesz
