// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// throwing_program CONFIG.toml [key=value ...]: trains as the program does, on a slow disk; but after step 3
// no rank gives up, one, or all, as GIVES_UP in the environment says: none, one or all; and the disk takes
// what rank 1 writes of a checkpoint slower yet, not at all, or never returns, as DISK says: slow, full,
// stuck.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "riesz/app/jobs/train.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/report/history.h"

/// In place of libc's: a disk that takes a tenth of a second.
extern "C" int fsync(int file) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return static_cast<int>(::syscall(SYS_fsync, file));
}

/// In place of libc's. A file without a name is memory, and no disk.
extern "C" ssize_t pwrite(int file, const void* from, size_t count, off_t at) {
  struct stat status {};
  const bool on_disk = ::fstat(file, &status) == 0 && status.st_nlink > 0;
  const char* disk = std::getenv("DISK");
  const std::string is = disk != nullptr && on_disk && riesz::Runtime::rank() == 1 ? disk : "";
  if (is == "full") return errno = ENOSPC, -1;
  if (is == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(400));
  if (is == "stuck") std::this_thread::sleep_for(std::chrono::hours(1));
  return ::syscall(SYS_pwrite64, file, from, count, at);
}

namespace riesz {
namespace {

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 2, argv + argc);
  const std::string who = std::getenv("GIVES_UP");
  app::train(load_config(argv[1], words), [&](const Row& row) {
    if (row.step != 3) return;
    RIESZ_CHECK(who != "all", "all give up after step 3");
    RIESZ_CHECK(who != "one" || Runtime::rank() != 1, "this rank gives up after step 3");
  });
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
