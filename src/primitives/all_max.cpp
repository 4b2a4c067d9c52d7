// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_max.h"

#include <ATen/ops/full.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/participation.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/plan/fibre_rounds.h"

namespace riesz {

namespace {

at::Tensor reduce(const char* name, const Partition& partition, const std::vector<std::string>& axes,
                  const at::Tensor& x, Round::Combination combination) {
  std::vector<int> positions;
  std::string text = name;
  for (const int axis : partition.indices(axes)) {
    if (partition.axis(axis).extent == 1) continue;
    text += (positions.empty() ? " over " : ", ") + partition.axis(axis).name;
    positions.push_back(axis);
  }
  if (positions.empty() || !partition.active()) return x.detach();
  check_real(text, partition);
  DigestBuilder workers;
  workers.mix(partition.digest());
  const Rounds rounds = fibre_rounds(partition, positions, partition.rank(), x.numel(), combination,
                                      Communicator::world().hosts());
  const Operation operation(name, text, "", workers);
  count_participation(operation);
  return execute(operation, rounds, resolved(x.detach()));
}

at::Tensor as_number(bool flag) { return at::full({1}, flag ? 1 : 0, at::kByte); }

}  // namespace

at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x) {
  return reduce("AllMax", partition, axes, x, Round::Combination::greatest);
}

at::Tensor all_min(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x) {
  return reduce("AllMin", partition, axes, x, Round::Combination::least);
}

bool any_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag) {
  return host_value(all_max(partition, axes, as_number(flag)), flag);
}

bool every_flag(const Partition& partition, const std::vector<std::string>& axes, bool flag) {
  return host_value(all_min(partition, axes, as_number(flag)), flag);
}

void wait_for_all(const Partition& partition) {
  std::vector<std::string> axes;
  for (const Axis& axis : partition.axes()) axes.push_back(axis.name);
  any_flag(partition, axes, false);
}

}  // namespace riesz
