// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace riesz {

/// The bytes of a file, whatever they mean; or of a folder's sources (*.h, *.cpp, *.md, *.py, *.sh, *.cmake
/// and *.toml, in the order of their paths, without hidden folders, build trees and the results of trainings,
/// which would make the next training's data another), one after another.
/// @throws Error naming the path if it is missing, cannot be read or has no bytes.
std::string read_bytes(const std::filesystem::path& path);

/// Windows of bytes[from + start …): a row of `length` ids each, (starts, length), int64.
at::Tensor windows(const std::string& bytes, std::int64_t from, const std::vector<std::int64_t>& starts,
                   std::int64_t length);

/// Bytes as text that a terminal can show: UTF-8 stays, also cut off in the middle; control characters but
/// the new line, and what is no UTF-8, become \xNN.
std::string printable(const std::string& bytes);

}  // namespace riesz
