// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// The messages of dropped requests that are still under way, and the memory that MPI may yet read or write.
/// Private to src/comm.
struct MpiLeft {
  std::vector<MPI_Request> requests;
  std::vector<Message> sends;
  std::vector<Message> receives;
  std::vector<at::Tensor> refused;  ///< where messages go that are not as the receiver expects
  std::unique_ptr<std::byte[]> heads;
};

/// Keeps these requests posted until they end, and does not wait for them: after an error the peer may never
/// answer. As long as a receive is posted, what arrives for it is not taken for a later message.
void keep_posted(MpiLeft left);

/// Keeps a communicator that is not used again. If it were freed, MPI might give its context to the next one:
/// MPICH 4.0 even while receives are posted in it, Open MPI 4.1 even while messages are on their way.
void keep_communicator(MPI_Comm communicator);

/// Cancels the requests that are kept, then frees the communicators, for MPI_Finalize must find nothing posted.
/// The requests' memory is kept. All workers call it, once all have come to their ends.
void free_what_is_left();

}  // namespace riesz
