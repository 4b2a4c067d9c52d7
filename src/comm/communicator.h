// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// This worker's end of the traffic among all workers of the job. It counts what each operator sends, and stages
/// tensors of other devices through host memory. Every exchange is point to point over one transport, so a team of
/// workers needs no communicator of its own: making one is local and free, and no order of making can deadlock.
class Communicator {
 public:
  /// The one that `Runtime` made. @throws Error outside a Runtime's life.
  static Communicator& world();

  explicit Communicator(std::unique_ptr<Transport> transport);

  /// Sends and receives at once on behalf of `operation`, under whose name it is counted. Parcels are contiguous;
  /// empty ones are dropped on both sides. Called in the same order by all workers involved.
  void exchange(const std::string& operation, const std::vector<Parcel>& sends, const std::vector<Parcel>& receives);

 private:
  std::unique_ptr<Transport> transport_;
};

/// Makes `Communicator::world()`, or with nullptr ends it. `Runtime` calls it; tests may put in another transport.
/// Returns the one before. Collective over the job.
std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator);

}  // namespace riesz
