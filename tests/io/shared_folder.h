// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/partition/partition.h"
#include "riesz/primitives/all_max.h"
#include "temporary_folder.h"

namespace riesz::testing {

/// An empty folder that all workers of the job have, gone when all are done with it.
class SharedFolder {
 public:
  SharedFolder() {
    if (Runtime::rank() == 0) mine_.emplace();
    path_ = collect_texts(Partition::world(), mine_ ? mine_->path().string() : "").front();
  }
  ~SharedFolder() { wait_for_all(Partition::world()); }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<TemporaryFolder> mine_;
  std::filesystem::path path_;
};

/// The files of a folder by name, with all their bytes.
inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

}  // namespace riesz::testing
