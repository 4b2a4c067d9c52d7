// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/host_copy.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "riesz/comm/host_tensor.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/all_or_none.h"
#include "riesz/partition/split.h"

namespace riesz {
namespace {

std::vector<int> team_of(const Partition& P) {
  std::vector<int> team;
  for (int rank = 0; rank < P.size(); ++rank) team.push_back(P.world_rank(rank));
  return team;
}

/// This worker's piece of the rows.
Interval rows_of(const HostTensor& tensor) {
  const std::vector<int>& holders = tensor.holders();
  const auto me = std::find(holders.begin(), holders.end(), Runtime::rank()) - holders.begin();
  return Split::balanced(tensor.local().size(0), static_cast<int>(holders.size()))[static_cast<int>(me)];
}

}  // namespace

at::Tensor host_copy(const Partition& P, at::IntArrayRef shape, at::ScalarType type,
                     const std::function<void(const Interval& rows, const at::Tensor& piece)>& fill) {
  std::optional<HostTensor> whole;
  all_or_none(P, [&] { whole.emplace(team_of(P), shape, type); });
  all_or_none(P, [&] {
    const Interval rows = rows_of(*whole);
    if (rows.size() > 0) fill(rows, whole->local().narrow(0, rows.begin, rows.size()));
  });
  whole->make_read_only();
  return whole->local();
}

int holders_of_host_copy(const Partition& P) { return static_cast<int>(holders_here(team_of(P)).size()); }

}  // namespace riesz
