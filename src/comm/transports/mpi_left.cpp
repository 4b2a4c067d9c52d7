// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/transports/mpi_left.h"

#include <mutex>
#include <utility>

namespace riesz {

void keep_posted(MpiLeft left) {
  static std::mutex mutex;
  static std::vector<MpiLeft> kept;
  const auto ended = [](MPI_Request& request) {
    int finished = 0;
    return MPI_Test(&request, &finished, MPI_STATUS_IGNORE) != MPI_SUCCESS || finished != 0;
  };
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(left));
  std::erase_if(kept, [&](MpiLeft& each) {
    std::erase_if(each.requests, ended);
    return each.requests.empty();
  });
}

}  // namespace riesz
