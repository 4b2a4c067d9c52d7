// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/runtime.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/mpi_check.h"
#include "riesz/comm/mpi_transport.h"

namespace riesz {
namespace {

/// One flag for the workers of a host, in memory they share: who sets it first speaks for all.
struct Speaker {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::atomic<int>* taken = nullptr;

  void open() {
    RIESZ_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    int rank = 0;
    RIESZ_MPI(MPI_Comm_rank(host, &rank));
    void* memory = nullptr;
    const MPI_Aint bytes = rank == 0 ? MPI_Aint{sizeof(std::atomic<int>)} : MPI_Aint{0};
    RIESZ_MPI(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, host, static_cast<void*>(&memory), &window));
    MPI_Aint size = 0;
    int unit = 0;
    RIESZ_MPI(MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&memory)));
    if (rank == 0) new (memory) std::atomic<int>(0);
    RIESZ_MPI(MPI_Barrier(host));
    taken = static_cast<std::atomic<int>*>(memory);
  }

  void close() {
    taken = nullptr;
    MPI_Win_free(&window);
    MPI_Comm_free(&host);
  }

  bool first() const { return taken == nullptr || taken->exchange(1) == 0; }
};

Speaker speaker;
int world_rank = 0;
int world_size = 1;
bool started = false;

/// Only the first speaker aborts: a second abort would add a second notice of the launcher's.
[[noreturn]] void end_job(const std::string& what) {
  if (speaker.first()) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::_Exit(1);
}

}  // namespace

Runtime::Runtime(int& argc, char**& argv) {
  RIESZ_CHECK(!started, "Runtime: this process has one already; make a single one, in main");
  int provided = MPI_THREAD_SINGLE;
  RIESZ_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  RIESZ_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  RIESZ_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  RIESZ_MPI(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  started = true;
  set_error_prefix(concat("[rank ", world_rank, " of ", world_size, "] "));
  RIESZ_CHECK(provided == MPI_THREAD_MULTIPLE,
              "Runtime: MPI provides thread level ", provided, " where MPI_THREAD_MULTIPLE is needed, since backward "
              "may communicate from the autograd engine's threads; use an MPI library built with thread support");
  speaker.open();
  set_world_communicator(std::make_unique<Communicator>(std::make_unique<MpiTransport>()));
  if (std::getenv("OMP_NUM_THREADS") == nullptr) at::set_num_threads(1);
}

Runtime::~Runtime() {
  if (std::uncaught_exceptions() > 0) return;  // peers may be inside other calls: ending MPI would wait for them
  set_world_communicator(nullptr);
  speaker.close();
  MPI_Finalize();
  started = false;
}

bool Runtime::active() { return started; }
int Runtime::rank() { return world_rank; }
int Runtime::size() { return world_size; }

int run_main(int argc, char** argv, const std::function<int(int, char**)>& body) {
  try {
    Runtime runtime(argc, argv);
    try {
      return body(argc, argv);
    } catch (const Error& error) {
      end_job(error.what());
    } catch (const std::exception& error) {
      end_job(concat("[rank ", world_rank, " of ", world_size, "] ", error.what()));
    } catch (...) {
      end_job(concat("[rank ", world_rank, " of ", world_size, "] an exception of unknown type"));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (started) MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace riesz
