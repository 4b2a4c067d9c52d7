// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "riesz/app/doctor/finding.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/comm/device_library.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_memory.h"
#include "riesz/comm/status_board.h"
#include "riesz/io/escaped.h"

namespace riesz::app {
namespace {

constexpr double kMiB = 1 << 20;

/// Puts one more remedy behind others.
void add(std::string& remedies, const std::string& one) { remedies += (remedies.empty() ? "" : "; ") + one; }

/// Processors that this process may use.
int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Finding cores() {
  const int cores = processors(), ranks = static_cast<int>(StatusBoard::read().size());
  const char* const set = std::getenv("OMP_NUM_THREADS");
  const int threads = set == nullptr ? 1 : std::max(1, std::atoi(set));
  std::string remedy;
  if (ranks > cores)
    remedy = concat("ranks share processors, and are slower for it: start at most ", cores,
                    ", or pass --bind-to none if the launcher bound them");
  if (threads > 1 && ranks * threads > cores)
    add(remedy, concat("threads share processors: set OMP_NUM_THREADS to ", std::max(1, cores / ranks)));
  return {"processors",
          concat(cores, " for ", ranks, ranks == 1 ? " rank" : " ranks", "; OMP_NUM_THREADS ",
                 set == nullptr ? "not set: one thread a rank" : set),
          remedy};
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
  const char* const remedy =
      "some MPI libraries need 64 MiB there: mount a larger one; for Docker --shm-size=1g";
  if (::statvfs("/dev/shm", &space) != 0) return {"/dev/shm", "is not there", remedy};
  const double left = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return {"/dev/shm", bytes_text(left) + " left", left < 64 * kMiB ? remedy : ""};
}

/// What the driver of NVIDIA has; nothing where the host has none.
struct Driver {
  int gpus = 0;
  int cuda = 0;  ///< the latest version that it runs, such as 13000
};

std::optional<Driver> look_for_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return std::nullopt;
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  const auto version = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDriverGetVersion"));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDeviceGetCount"));
  Driver found;
  if (init == nullptr || version == nullptr || count == nullptr) return found;
  if (version(&found.cuda) != 0) found.cuda = 0;
  if (init(0) != 0 || count(&found.gpus) != 0) found.gpus = 0;
  return found;
}

/// Without a GPU nothing is missing: ranks compute on the CPU.
Finding gpus() {
  const std::optional<Driver> driver = look_for_driver();
  const std::string there = driver ? concat(driver->gpus, ", by a driver for CUDA ", driver->cuda / 1000, ".",
                                            driver->cuda % 1000 / 10)
                                   : "none, for there is no driver of NVIDIA";
  const bool some = driver && driver->gpus > 0;
  try {
    const detail::CudaLibrary& library = detail::load_cuda_library("device cuda", "");
    return {"GPUs", concat(there, "; libriesz_cuda.so is for compute capabilities ", library.architectures()),
            some && driver->cuda < 13000 ? "install a driver for CUDA 13.0 (580) or newer" : ""};
  } catch (const Error& error) {
    return {"GPUs", there + "; no libriesz_cuda.so that fits",
            some ? concat("to compute on them: ", error.what()) : ""};
  }
}

/// In the folder where results would go.
Finding locks() {
  std::error_code error;
  const std::string what = "file locks in " + in_quotes(std::filesystem::current_path(error).string());
  const std::string name = ".riesz-doctor-" + std::to_string(::getpid());
  const int file = ::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0)
    return {what, concat("nothing can be written: ", std::strerror(errno)),
            "start jobs in another folder, or set output.folder"};
  const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  ::unlink(name.c_str());
  return {
      what, locked ? "work" : "do not work",
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
  if (files.rlim_cur < 256) add(remedy, "raise ulimit -n to 1024 or more");
  if (space.rlim_cur != RLIM_INFINITY)
    add(remedy, "ranks map much that they do not use: ulimit -v unlimited");
  return {"limits", found, remedy};
}

}  // namespace

std::vector<Finding> examine_host() {
  return {cores(), memory(), huge_pages(), shared_memory(), gpus(), locks(), limits()};
}

}  // namespace riesz::app
