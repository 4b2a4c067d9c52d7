// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program whose rank 1 comes late, or not at all: to the start of Riesz, or to take what is sent. Its
// argument says how; the process tests beside it read what the job ends with.
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/start/job_processes.h"
#include "riesz/comm/start/launcher.h"

namespace {

using riesz::Communicator;
using riesz::Runtime;

bool stops_when_it_shares_memory = false;

/// For good: mpirun continues who is stopped, before it ends the job.
void stop() {
  std::raise(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(300));
}

/// To rank `peer`, each of 100,000 bytes, before anything is received.
void send_three(int peer) {
  for (int i = 0; i < 3; ++i) {
    Communicator& world = Communicator::world();
    world.reserve({peer}, {}).send({"send", "a send"}, {{peer, at::ones({100'000}, at::kByte)}});
  }
}

int body(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "crossing") send_three(1 - Runtime::rank());
  if (way == "lags" && Runtime::rank() == 0) send_three(1);
  if (way == "lags") std::this_thread::sleep_for(std::chrono::seconds(300));
  std::puts("came to the end");
  return 0;
}

/// `other`: the process of another rank.
int print_processes(int other) {
  for (const riesz::JobProcess& each : riesz::processes_of_job(riesz::launched_job()))
    std::printf("rank %d: %s\n", each.rank,
                each.number == getpid() ? "here"
                : each.number == other  ? "the other"
                                        : "a wrong one");
  return 0;
}

}  // namespace

/// Hides the system's from the whole program: who shares memory with others makes it by this.
extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  using Call = int (*)(const char*, unsigned);
  static const auto system = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "memfd_create"));
  if (stops_when_it_shares_memory && std::string(name) == "riesz") stop();
  return system(name, flags);
}

/// Says so where another thread than the first reads what only we read, while the first may be changing it.
extern "C" char* getenv(const char* name) noexcept {
  using Call = char* (*)(const char*);
  static const auto system = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "getenv"));
  for (const char* ours : {"RIESZ_ALONE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (gettid() != getpid() && std::strcmp(name, ours) == 0)
      std::fputs("another thread reads the environment\n", stderr);
  }
  return system(name);
}

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "processes") return print_processes(std::atoi(argv[2]));
  if (riesz::launched_rank() == 1) {
    if (way == "sleeps") std::this_thread::sleep_for(std::chrono::seconds(300));
    if (way == "stops") stop();
    if (way == "ends") return 0;
    if (way == "another_way") setenv("RIESZ_TRANSPORT", "mpi", 1);
    if (way == "other_hosts") setenv("RIESZ_HOSTS", "1", 1);
    stops_when_it_shares_memory = way == "stops_later";
  }
  return riesz::run_main(argc, argv, body);
}
