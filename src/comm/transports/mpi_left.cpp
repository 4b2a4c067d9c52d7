// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transports/mpi_left.h"

#include <mutex>
#include <utility>

namespace riesz {
namespace {

struct Kept {
  std::mutex mutex;
  std::vector<MpiLeft> all;
  std::vector<MPI_Comm> communicators;  // in the order in which all workers made them
};

Kept& kept() {
  static Kept only;
  return only;
}

}  // namespace

void keep_posted(MpiLeft left) {
  const auto ended = [](MPI_Request& request) {
    int finished = 0;
    return MPI_Test(&request, &finished, MPI_STATUS_IGNORE) != MPI_SUCCESS || finished != 0;
  };
  const std::lock_guard lock(kept().mutex);
  kept().all.push_back(std::move(left));
  std::erase_if(kept().all, [&](MpiLeft& each) {
    std::erase_if(each.requests, ended);
    return each.requests.empty();
  });
}

void keep_communicator(MPI_Comm communicator) {
  const std::lock_guard lock(kept().mutex);
  kept().communicators.push_back(communicator);
}

void free_what_is_left() {
  const std::lock_guard lock(kept().mutex);
  for (MpiLeft& each : kept().all) {
    for (MPI_Request& request : each.requests) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    each.requests.clear();
  }
  for (MPI_Comm& communicator : kept().communicators) MPI_Comm_free(&communicator);
  kept().communicators.clear();
}

}  // namespace riesz
