// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// The state of a file: it changes when the file is written, or another file takes its name.
struct FileState {
  std::uint64_t device = 0, number = 0;
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< when its contents did, in nanoseconds

  bool operator==(const FileState&) const = default;
};

/// An open file, which is closed when this is destroyed. Bytes are read and written at given places, so
/// several workers may share a file. Each call
/// @throws Error naming the path and the system's reason.
class File {
 public:
  /// @throws Error also where there is no regular file, but a folder, a pipe or a device. Never waits for
  /// one.
  static File to_read(const std::filesystem::path& path);
  /// To be written: made anew, or emptied.
  static File made(const std::filesystem::path& path);
  /// To be written by several workers, each at places of its own: made by the one that comes first.
  static File shared(const std::filesystem::path& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::int64_t bytes() const { return state().bytes; }
  FileState state() const;
  /// @throws Error also where the file ends before `at` + `count`.
  void read(std::int64_t at, void* to, std::int64_t count) const;
  void write(std::int64_t at, const void* from, std::int64_t count) const;
  void write(std::string_view text) const { write(0, text.data(), static_cast<std::int64_t>(text.size())); }
  void resize(std::int64_t bytes) const;
  /// Starts to bring written bytes to the disk, while more is written; `sync` then waits less.
  void begin_sync() const;
  /// Waits until these bytes have reached the disk. It divides a long `sync` into short waits but does not
  /// replace it: `sync` must follow.
  void wait_for_sync(std::int64_t at, std::int64_t count) const;
  /// Waits until all that was written is on the disk.
  void sync() const;

 private:
  File(const std::filesystem::path& path, int flags, const char* what);

  std::filesystem::path path_;
  int file_;
};

/// The most bytes of a file that describes a model, a tokenizer or a configuration: 1 GiB.
constexpr std::int64_t kMostOfAText = std::int64_t{1} << 30;

/// All bytes of a regular file. @throws Error naming the path and the system's reason, or its size if it has
/// more than `most` bytes.
std::string bytes_of_file(const std::filesystem::path& path, std::int64_t most = kMostOfAText);

/// Is there anything of this name? @throws Error naming the path where the system cannot say, such as by a
/// link to itself or a name that is too long.
bool is_there(const std::filesystem::path& path);

/// Is there a folder of this name, or a regular file? @throws Error likewise.
bool is_folder(const std::filesystem::path& path);
bool is_plain_file(const std::filesystem::path& path);

/// What lies in a folder, in any order. @throws Error naming the folder and the system's reason.
std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder);

/// Makes a folder and those that it lies in. Returns when the names of the new ones are on the disk.
void make_folders(const std::filesystem::path& folder);

/// Returns when the names in a folder are on the disk: what was made, renamed or removed in it. Does nothing
/// with a folder that may not be read.
void sync_folder(const std::filesystem::path& folder);

/// Gives a file the name `to`, in place of another file of that name.
/// @throws Error naming both names and the system's reason.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
/// Copies a file. @throws Error likewise.
void duplicate_file(const std::filesystem::path& from, const std::filesystem::path& to);
/// Removes a file, or a folder with all that is in it; true if there was one.
/// @throws Error naming it and the system's reason.
bool remove_tree(const std::filesystem::path& path);

/// The path from the root on, without "." and "..". @throws Error if the current folder has been removed.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// @throws Error naming both numbers unless the file system of `folder` has room for so many bytes.
void check_room(const std::filesystem::path& folder, std::int64_t bytes);

}  // namespace riesz
