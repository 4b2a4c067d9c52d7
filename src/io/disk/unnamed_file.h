// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace riesz {

/// Transfers begin and end at multiples of so many bytes, of the file and of memory.
constexpr std::int64_t kDiskLine = 4096;

/// A file without a name in a folder, which vanishes when it is closed or the process ends, however that is.
/// All its bytes are 0 at first.
class UnnamedFile {
 public:
  /// Reserves room for all its bytes, where the file system can. `what`: whose it is, for errors.
  /// @throws Error naming the folder and the system's reason, and how much room there is if it is too little.
  UnnamedFile(std::string what, const std::filesystem::path& folder, std::int64_t bytes);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  /// Makes it larger, with room for all its bytes; what it has stays. @throws Error as the constructor.
  void grow(std::int64_t bytes);

  /// The system's number of it.
  int number() const { return file_; }
  /// Does it bypass the page cache?
  bool direct() const { return direct_; }
  std::int64_t bytes() const { return bytes_; }
  /// Such as `AdamW: first: cannot read its file in "/scratch": `, for an error.
  std::string cannot(const char* what) const;

 private:
  void open();
  void reserve(std::int64_t more);
  void try_direct();

  std::string what_;
  std::filesystem::path folder_;
  std::int64_t bytes_;
  int file_ = -1;
  bool direct_ = false;
};

}  // namespace riesz
