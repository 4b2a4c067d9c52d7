// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_max.h"

#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include "riesz/comm/host_value.h"
#include "riesz/comm/part_taken.h"
#include "riesz/partition/digest.h"
#include "riesz/primitives/all_reduce.h"

namespace riesz {

namespace {

using Pointwise = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

at::Tensor reduce(const char* name, const Partition& partition, const std::vector<std::string>& axes,
                  const at::Tensor& x, Pointwise combine) {
  std::vector<int> positions;
  std::string text = name;
  for (const int axis : partition.indices(axes)) {
    if (partition.axis(axis).extent == 1) continue;
    text += (positions.empty() ? " over " : ", ") + partition.axis(axis).name;
    positions.push_back(axis);
  }
  if (positions.empty() || !partition.active()) return x.detach();
  check_real(text, partition);
  take_part();
  Digest workers;
  mix(workers, partition);
  return reduce_fibre({name, text, "", workers}, partition, positions, x.detach(),
                      [combine](const std::vector<at::Tensor>& terms, const at::Tensor& y) {
                        at::Tensor result = terms.front();
                        for (std::size_t i = 1; i < terms.size(); ++i) result = combine(result, terms[i]);
                        y.copy_(result);
                      });
}

at::Tensor as_number(bool flag) { return at::full({1}, flag ? 1 : 0, at::kByte); }

}  // namespace

at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x) {
  return reduce("AllMax", partition, axes, x, at::maximum);
}

at::Tensor all_min(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x) {
  return reduce("AllMin", partition, axes, x, at::minimum);
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
