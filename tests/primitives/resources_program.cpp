// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Builds 10,000 operators and applies some, also in two halves and dropped ones. Counts, between MPI and
// Riesz, the communicators made meanwhile, and in the whole life the communicators and windows made and freed
// and the requests begun and ended.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <mpi.h>

#include <atomic>
#include <cstdio>

#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"

namespace {

std::atomic<int> communicators = 0;
std::atomic<int> freed = 0;
std::atomic<int> windows = 0;
std::atomic<long> begun = 0;
std::atomic<long> ended = 0;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {
int MPI_Comm_dup(MPI_Comm from, MPI_Comm* to) {
  ++communicators;
  return PMPI_Comm_dup(from, to);
}
int MPI_Comm_split(MPI_Comm from, int color, int key, MPI_Comm* to) {
  ++communicators;
  return PMPI_Comm_split(from, color, key, to);
}
int MPI_Comm_split_type(MPI_Comm from, int type, int key, MPI_Info info, MPI_Comm* to) {
  ++communicators;
  return PMPI_Comm_split_type(from, type, key, info, to);
}
int MPI_Comm_create(MPI_Comm from, MPI_Group group, MPI_Comm* to) {
  ++communicators;
  return PMPI_Comm_create(from, group, to);
}
int MPI_Comm_create_group(MPI_Comm from, MPI_Group group, int tag, MPI_Comm* to) {
  ++communicators;
  return PMPI_Comm_create_group(from, group, tag, to);
}
int MPI_Comm_free(MPI_Comm* communicator) {
  ++freed;
  return PMPI_Comm_free(communicator);
}
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm on, void* memory,
                            MPI_Win* window) {
  ++windows;
  return PMPI_Win_allocate_shared(bytes, unit, info, on, memory, window);
}
int MPI_Win_free(MPI_Win* window) {
  --windows;
  return PMPI_Win_free(window);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm on,
              MPI_Request* request) {
  ++begun;
  return PMPI_Isend(data, count, type, peer, tag, on, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm on,
              MPI_Request* request) {
  ++begun;
  return PMPI_Irecv(data, count, type, peer, tag, on, request);
}
int MPI_Ibarrier(MPI_Comm on, MPI_Request* request) {
  ++begun;
  return PMPI_Ibarrier(on, request);
}
int MPI_Test(MPI_Request* request, int* finished, MPI_Status* status) {
  const bool counts = *request != MPI_REQUEST_NULL;
  const int code = PMPI_Test(request, finished, status);
  if (counts && *finished != 0) ++ended;
  return code;
}
}
// NOLINTEND(readability-identifier-naming)

namespace riesz {
namespace {

int run(int, char**) {
  const at::NoGradGuard no_gradient;
  const int made = communicators;
  const Partition world = Partition::world();
  for (int i = 0; i < 10000; ++i) {
    const Partition team = world.subset({i % world.size()});
    const Space X = Space(world.grid({{"a", world.size()}}), {7 + i % 5, 3});
    const Operator gather = between(X.sharded(0, "a"), X.copied("a"));
    const Operator to_one = between(X.partial("a"), Space(team, X.shape()));
    if (i % 500 != 0) continue;
    gather(Vector(gather.domain(), at::ones(gather.domain().local_shape())));
    to_one(Vector(to_one.domain(), at::ones(to_one.domain().local_shape())));
    gather.start(Vector(gather.domain(), at::ones(gather.domain().local_shape()))).wait();
    {
      const Pending dropped = gather.start(Vector(gather.domain(), at::ones(gather.domain().local_shape())));
    }
  }
  if (Runtime::rank() == 0)
    std::printf("communicators made for 10,000 grids and operators: %d\n", communicators - made);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) {
  const int code = riesz::run_main(argc, argv, riesz::run);
  std::printf("%d communicators made, %d freed, %d windows left, %ld requests begun, %ld ended: %s\n",
              communicators.load(), freed.load(), windows.load(), begun.load(), ended.load(),
              communicators == freed && communicators > 0 && windows == 0 && begun == ended && begun > 0
                  ? "nothing is left"
                  : "something is left");
  return code;
}
