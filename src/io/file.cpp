// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/write_error.h"

namespace riesz {
namespace {

constexpr std::int64_t kAtOnce = std::int64_t{1} << 30;  // the system takes less than 2³¹

[[noreturn]] void refuse(const char* what, const std::filesystem::path& path) {
  const int reason = errno;
  throw_error(concat("cannot ", what, " ", in_quotes(path.string()), ": ", std::strerror(reason)));
}

/// @throws Error where the system does not say it; what does not exist is known.
std::filesystem::file_status status_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  RIESZ_CHECK(std::filesystem::status_known(status), "cannot read ", in_quotes(path.string()), ": ",
              error.message());
  return status;
}

}  // namespace

File::File(const std::filesystem::path& path, int flags, const char* what)
    : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (file_ < 0) refuse(what, path);
}

// Without O_NONBLOCK, opening a pipe waits for who writes into it.
File File::to_read(const std::filesystem::path& path) {
  File file(path, O_RDONLY | O_NONBLOCK, "read");
  struct stat status {};
  if (::fstat(file.file_, &status) != 0) refuse("read", path);
  RIESZ_CHECK(S_ISREG(status.st_mode), "cannot read ", in_quotes(path.string()),
              ": it is a folder, a pipe or a device; name a file");
  return file;
}

File File::made(const std::filesystem::path& path) { return {path, O_RDWR | O_CREAT | O_TRUNC, "make"}; }
File File::shared(const std::filesystem::path& path) { return {path, O_RDWR | O_CREAT, "write"}; }

File::~File() {
  if (file_ >= 0) ::close(file_);
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

FileState File::state() const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) refuse("read", path_);
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, status.st_size,
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

void File::read(std::int64_t at, void* to, std::int64_t count) const {
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t done = ::pread(file_, out, static_cast<std::size_t>(std::min(count, kAtOnce)), at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse("read", path_);
    RIESZ_CHECK(done > 0, "cannot read ", in_quotes(path_.string()), ": it ends at byte ", at, ", and ",
                count, " more are wanted; it was cut off since it was opened, or while it was written");
    out += done, at += done, count -= done;
  }
}

void File::write(std::int64_t at, const void* from, std::int64_t count) const {
  const auto* in = static_cast<const char*>(from);
  while (count > 0) {
    const ssize_t done = ::pwrite(file_, in, static_cast<std::size_t>(std::min(count, kAtOnce)), at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw_error(write_error(path_, errno, count));
    in += done, at += done, count -= done;
  }
}

void File::resize(std::int64_t bytes) const {
  if (::ftruncate(file_, bytes) != 0) throw_error(write_error(path_, errno, bytes));
}

// A file system that cannot leaves it to `sync`, which says what goes wrong.
void File::begin_sync() const { ::sync_file_range(file_, 0, 0, SYNC_FILE_RANGE_WRITE); }

// Likewise.
void File::wait_for_sync(std::int64_t at, std::int64_t count) const {
  ::sync_file_range(file_, at, count,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

void File::sync() const {
  if (::fsync(file_) == 0) return;
  const int reason = errno;
  throw_error(write_error(path_, reason, bytes()));
}

std::string bytes_of_file(const std::filesystem::path& path, std::int64_t most) {
  const File file = File::to_read(path);
  const std::int64_t all = file.bytes();
  RIESZ_CHECK(all <= most, "cannot read ", in_quotes(path.string()), ": it has ", all,
              " bytes, and such a file has at most ", most, "; name another");
  std::string bytes(static_cast<std::size_t>(all), ' ');
  file.read(0, bytes.data(), static_cast<std::int64_t>(bytes.size()));
  return bytes;
}

bool is_there(const std::filesystem::path& path) { return std::filesystem::exists(status_of(path)); }

bool is_folder(const std::filesystem::path& path) { return std::filesystem::is_directory(status_of(path)); }

bool is_plain_file(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(status_of(path));
}

std::vector<std::filesystem::path> names_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path());
  RIESZ_CHECK(!error, "cannot read the folder ", in_quotes(folder.string()), ": ", error.message());
  return names;
}

void sync_folder(const std::filesystem::path& folder) {
  if (::access(folder.c_str(), R_OK) != 0 && errno == EACCES) return;
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) refuse("write", folder);
  const bool done = ::fsync(file) == 0 || errno == EINVAL;  // some file systems sync names by themselves
  const int reason = errno;
  ::close(file);
  errno = reason;
  if (!done) refuse("write", folder);
}

void make_folders(const std::filesystem::path& folder) {
  const std::filesystem::path place = absolute_path(folder);
  std::vector<std::filesystem::path> missing;
  std::error_code error;
  for (auto at = place; at.has_relative_path() && !std::filesystem::exists(at, error); at = at.parent_path())
    missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    std::filesystem::create_directory(*at, error);  // no error where another has just made it
    RIESZ_CHECK(!error, "cannot make the folder ", in_quotes(at->string()), ": ", error.message());
    sync_folder(at->parent_path());
  }
  RIESZ_CHECK(std::filesystem::is_directory(place, error), "cannot make the folder ",
              in_quotes(folder.string()), ": there is a file of that name");
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  RIESZ_CHECK(!error, "cannot rename ", in_quotes(from.string()), " to ", in_quotes(to.string()), ": ",
              error.message());
}

void duplicate_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, error);
  RIESZ_CHECK(!error, "cannot copy ", in_quotes(from.string()), " to ", in_quotes(to.string()), ": ",
              error.message());
}

bool remove_tree(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t removed = std::filesystem::remove_all(path, error);
  RIESZ_CHECK(!error, "cannot remove ", in_quotes(path.string()), ": ", error.message());
  return removed > 0;
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  RIESZ_CHECK(!error, "cannot say where ", in_quotes(path.string()),
              " is: the current folder has been removed (", error.message(), "); start from another folder");
  return whole.lexically_normal();
}

void check_room(const std::filesystem::path& folder, std::int64_t bytes) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) refuse("write into", folder);
  const std::uint64_t room = std::uint64_t{status.f_bavail} * status.f_frsize;
  RIESZ_CHECK(static_cast<std::uint64_t>(bytes) <= room, "cannot write ", bytes, " bytes into ",
              in_quotes(folder.string()), ": its file system has room for ", room,
              "; make room there, or choose another folder");
}

}  // namespace riesz
