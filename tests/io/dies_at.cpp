// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "dies_at.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

namespace {

bool armed = false;
int calls = 0;
int last = 0;
std::vector<std::string>* synced = nullptr;

/// Is this the call to die at?
bool is_last() { return armed && calls++ == last; }

void die() { ::kill(::getpid(), SIGKILL); }

}  // namespace

namespace riesz::testing {

void die_at(int n) {
  armed = true;
  calls = 0;
  last = n;
}

int calls_so_far() { return calls; }

std::vector<std::string> synced_by(const std::function<void()>& does) {
  std::vector<std::string> paths;
  synced = &paths;
  does();
  synced = nullptr;
  return paths;
}

}  // namespace riesz::testing

extern "C" {

ssize_t pwrite(int file, const void* from, size_t count, off_t at) {
  if (is_last()) {
    ::syscall(SYS_pwrite64, file, from, count / 2, at);
    die();
  }
  return ::syscall(SYS_pwrite64, file, from, count, at);
}

int ftruncate(int file, off_t size) noexcept {
  if (is_last()) die();
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}

int fsync(int file) {  // no power fails here
  if (is_last()) die();
  if (synced != nullptr)
    synced->push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)).string());
  return 0;
}

int rename(const char* from, const char* to) noexcept {
  if (is_last()) die();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (is_last()) die();
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  if (is_last()) die();
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (is_last()) die();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
}
