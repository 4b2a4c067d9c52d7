// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/team.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/runtime.h"
#include "riesz/partition/split.h"

namespace riesz {

Team Team::along(const Partition& P, const std::vector<std::string>& axes, std::int64_t elements) {
  Team team;
  if (P.active()) {
    std::vector<int> positions;
    for (const std::string& axis : axes) positions.push_back(P.index(axis));
    for (const int rank : P.fibre(P.rank(), positions)) {
      if (rank == P.rank()) team.mine = team.size();
      team.workers.push_back(P.world_rank(rank));
    }
  } else {
    team.workers = {Runtime::rank()};
  }
  const Split split = Split::balanced(elements, team.size());
  for (int i = 0; i < team.size(); ++i) team.begins.push_back(split[i].begin);
  team.begins.push_back(elements);
  return team;
}

std::int64_t Team::largest() const {
  std::int64_t most = 0;
  for (int i = 0; i < size(); ++i) most = std::max(most, end(i) - begin(i));
  return most;
}

PassingBuffers::PassingBuffers(const std::vector<int>& team, std::int64_t elements, at::ScalarType type,
                               at::Device device) {
  for (auto& buffer : buffers_) buffer = std::make_unique<TeamBuffer>(team, elements, type, device);
}

std::int64_t PassingBuffers::elements() const { return buffers_[0] ? buffers_[0]->local().numel() : 0; }

std::int64_t PassingBuffers::bytes() const {
  std::int64_t sum = 0;
  for (const auto& buffer : buffers_) sum += buffer ? static_cast<std::int64_t>(buffer->local().nbytes()) : 0;
  return sum;
}

bool PassingBuffers::free(bool wait) {
  std::shared_ptr<TeamCollective>& collective = collectives_[turn_];
  if (!collective) return true;
  if (!wait && !collective->advance()) return false;
  std::exchange(collective, nullptr)->wait();  // on a device the buffer is free for a stream that has waited
  return true;
}

void PassingBuffers::take_turn(const std::shared_ptr<TeamCollective>& collective) {
  collectives_[turn_] = collective;
  turn_ = 1 - turn_;
}

}  // namespace riesz
