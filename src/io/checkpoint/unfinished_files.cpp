// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/unfinished_files.h"

#include <algorithm>
#include <cstdint>

namespace riesz {
namespace {

/// Bytes after which the disk is told to begin, so that it works while more is written.
constexpr std::int64_t kAtOnce = std::int64_t{2} << 20;
/// Bytes that are waited for at once in the end.
constexpr std::int64_t kSyncAtOnce = std::int64_t{16} << 20;

}  // namespace

void begin_folder(WholeFolder& folder, const CheckpointPlan& plan,
                  const std::map<std::string, std::string>& texts) {
  std::int64_t bytes = plan.bytes();
  for (const auto& [name, text] : texts) bytes += static_cast<std::int64_t>(text.size());
  folder.make();
  check_room(folder.unfinished(), bytes);
}

UnfinishedFiles::UnfinishedFiles(const std::filesystem::path& folder, const CheckpointPlan& plan,
                                 WriteProgress& progress)
    : folder_(folder), progress_(progress) {
  for (const WrittenFile& written : plan.files) files_.push_back(File::shared(folder / written.name));
}

void UnfinishedFiles::write_rest(const CheckpointPlan& plan,
                                 const std::map<std::string, std::string>& texts) const {
  for (const auto* some : {&texts, &plan.indices}) {
    for (const auto& [name, text] : *some) {
      const File file = File::made(folder_ / name);
      file.write(text);
      file.sync();
      progress_.add();
    }
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].write(header_bytes(plan.files[i].header));
    files_[i].resize(plan.files[i].header.file_bytes());
  }
}

void UnfinishedFiles::write(const Piece& piece) {
  const File& file = files_[piece.file];
  const auto* from = static_cast<const char*>(piece.values.const_data_ptr());
  const auto bytes = static_cast<std::int64_t>(piece.values.nbytes());
  for (std::int64_t begin = 0; begin < bytes; begin += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, bytes - begin);
    file.write(piece.at + begin, from + begin, count);
    progress_.add();
    not_begun_ += count;
    if (not_begun_ < kAtOnce) continue;
    file.begin_sync();
    not_begun_ = 0;
  }
}

void UnfinishedFiles::sync() const {
  for (const File& file : files_) {
    const std::int64_t bytes = file.bytes();
    for (std::int64_t at = 0; at < bytes; at += kSyncAtOnce, progress_.add())
      file.wait_for_sync(at, std::min(kSyncAtOnce, bytes - at));
    file.sync();
    progress_.add();
  }
}

}  // namespace riesz
