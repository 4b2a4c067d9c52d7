// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>

namespace riesz {

/// The bytes of a file, or of a folder's texts (*.txt, *.md, *.h, *.cpp, *.py, *.sh, *.cmake and *.toml), one
/// after another in the order of their paths. Hidden folders, build trees and the results of trainings are
/// left out. Results would change the data of the next training.
/// @throws Error naming the path if it is neither a file nor a folder, cannot be read or has no bytes.
std::string read_bytes(const std::filesystem::path& path);

}  // namespace riesz
