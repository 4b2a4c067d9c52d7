// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_max.h"

#include <ATen/ops/full.h>

#include <optional>

#include "riesz/comm/communicator.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/participation.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/plan/fibre_rounds.h"

namespace riesz {

namespace {

/// One combination of tensors of one size.
struct Combined {
  Partition partition;
  std::vector<std::string> axes;
  Round::Combination combination;
  std::int64_t elements;
  Operation operation;
  std::optional<Rounds> rounds;  // nothing where this worker has no others to combine with
};

Combined planned(const char* name, const Partition& partition, const std::vector<std::string>& axes,
                 std::int64_t elements, Round::Combination combination) {
  std::vector<int> positions;
  std::string text = name;
  for (const int axis : partition.indices(axes)) {
    if (partition.axis(axis).extent == 1) continue;
    text += (positions.empty() ? " over " : ", ") + partition.axis(axis).name;
    positions.push_back(axis);
  }
  DigestBuilder workers;
  workers.mix(partition.digest());
  Combined made{partition, axes, combination, elements, Operation(name, text, "", workers), std::nullopt};
  if (positions.empty() || !partition.active()) return made;
  check_real(text, partition);
  made.rounds = fibre_rounds(partition, positions, partition.rank(), elements, combination,
                             Communicator::world().hosts());
  return made;
}

at::Tensor reduce(const char* name, const Partition& partition, const std::vector<std::string>& axes,
                  const at::Tensor& x, Round::Combination combination) {
  static auto& plans = *new detail::PlanCache<Combined>;
  const auto plan = plans.get(
      [&](const Combined& made) {
        return made.elements == x.numel() && made.combination == combination && made.axes == axes &&
               made.partition == partition;
      },
      [&] { return planned(name, partition, axes, x.numel(), combination); });
  if (!plan->rounds) return x.detach();
  count_participation(plan->operation);
  return execute(plan->operation, *plan->rounds, resolved(x.detach()));
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
