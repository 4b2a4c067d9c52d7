// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "riesz/app/doctor/finding.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/comm/board.h"
#include "riesz/comm/error.h"
#include "riesz/io/host_memory.h"

namespace riesz::app {
namespace {

constexpr double kMiB = 1 << 20;

/// Processors that this process may use.
int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Finding cores() {
  const int cores = processors(), ranks = static_cast<int>(Board::read().size());
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  Finding finding{"processors",
                  concat(cores, " for ", ranks, ranks == 1 ? " rank" : " ranks", "; OMP_NUM_THREADS ",
                         threads == nullptr ? "not set: one thread a rank" : threads),
                  ""};
  if (ranks > cores)
    finding.remedy = concat("ranks share processors, and are slower for it: start at most ", cores,
                            ", or pass --bind-to none if the launcher bound them");
  return finding;
}

Finding memory() {
  const std::optional<std::int64_t> left = available_memory();
  if (!left) return {"memory", "the system does not say how much is left", ""};
  const auto bytes = static_cast<double>(*left);
  return {"memory", bytes_text(bytes) + " left",
          bytes < 512 * kMiB ? "little is left: end other programs, or train with fewer ranks" : ""};
}

Finding huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const bool never = line.find("[never]") != std::string::npos;
  return {"huge pages", line.empty() ? "the system does not say" : line,
          never ? "weights are read up to a fifth faster with: echo madvise > "
                  "/sys/kernel/mm/transparent_hugepage/enabled"
                : ""};
}

/// Riesz needs none there; some MPI libraries do.
Finding shared_memory() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0) return {"/dev/shm", "is not there", ""};
  const double left = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return {"/dev/shm", bytes_text(left) + " left", ""};
}

Finding locks() {
  const std::string name = "/tmp/riesz-doctor-" + std::to_string(::getpid());
  const int file = ::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const bool locked = file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0;
  if (file >= 0) ::close(file);
  ::unlink(name.c_str());
  return {
      "file locks in /tmp", locked ? "work" : "do not work",
      locked ? "" : "after a killed job of another host you must remove .lock.held from its output.folder"};
}

Finding limits() {
  rlimit files{}, space{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_AS, &space);
  std::string found = concat(files.rlim_cur, " open files");
  if (space.rlim_cur != RLIM_INFINITY)
    found += concat(", ", bytes_text(static_cast<double>(space.rlim_cur)), " of addresses");
  std::string remedy;
  if (files.rlim_cur < 256) remedy = "raise ulimit -n to 1024 or more";
  if (space.rlim_cur != RLIM_INFINITY) remedy = "ranks map much that they do not use: ulimit -v unlimited";
  return {"limits", found, remedy};
}

}  // namespace

std::vector<Finding> examine_host() {
  return {cores(), memory(), huge_pages(), shared_memory(), locks(), limits()};
}

}  // namespace riesz::app
