// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/fibre.h"

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/partition/participation.h"

namespace riesz {

Fibre Fibre::through_here(const std::string& name, const Partition& partition,
                          const std::vector<std::string>& axes) {
  check_real(name, partition);
  Fibre fibre;
  fibre.digest.mix(partition.digest());
  const std::vector<int> positions = partition.indices(axes);
  for (const int axis : positions) {
    fibre.over += (fibre.over.empty() ? " over " : ", ") + partition.axis(axis).name;
    fibre.digest.mix(static_cast<std::uint64_t>(axis));
  }
  for (const int rank : partition.fibre(partition.rank(), positions)) {
    if (rank == partition.rank()) fibre.me = fibre.peers.size();
    fibre.peers.push_back(partition.world_rank(rank));
  }
  return fibre;
}

Operation Fibre::operation(const std::string& name, at::IntArrayRef row) const {
  DigestBuilder all = digest;
  std::string more;
  for (const std::int64_t extent : row) {
    all.mix(static_cast<std::uint64_t>(extent));
    more += (more.empty() ? " of rows of " : " x ") + std::to_string(extent);
  }
  return {name, name + over, more, all};
}

void Fibre::exchange(const Operation& operation, const std::vector<at::Tensor>& sent,
                     const std::vector<at::Tensor>& received) const {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i == me) continue;
    sends.push_back({peers[i], sent[i]});
    receives.push_back({peers[i], received[i]});
  }
  count_participation(operation);
  Communicator::world().exchange(operation, std::move(sends), std::move(receives),
                                 std::make_shared<const std::vector<int>>(peers));
}

}  // namespace riesz
