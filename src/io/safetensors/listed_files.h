// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace riesz {

/// The safetensors files that a path means.
struct ListedFiles {
  std::vector<std::filesystem::path> files;
  std::filesystem::path index;                           ///< what lists them; empty for one file alone
  std::map<std::string, std::filesystem::path> file_of;  ///< by tensor, if an index lists them
};

/// The files of a path. A file stands for itself, and an index for the files that it lists. A folder stands
/// for STEM.safetensors, or for the files that STEM.safetensors.index.json lists. Local.
/// @throws Error naming what is there instead, with a remedy; or the index and the rule that it breaks.
ListedFiles listed_files(const std::filesystem::path& path, const std::string& stem);

/// The index of the files that tensors lie in, {tensor: file}, as Hugging Face writes it.
std::string index_text(const std::map<std::string, std::string>& file_of, std::int64_t bytes);

}  // namespace riesz
