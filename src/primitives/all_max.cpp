// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_max.h"

#include <ATen/ops/maximum.h>

#include "riesz/primitives/all_reduce.h"

namespace riesz {

at::Tensor all_max(const Partition& partition, const std::vector<std::string>& axes, const at::Tensor& x) {
  std::vector<int> positions;
  for (const std::string& axis : axes) {
    if (partition.extent(axis) > 1) positions.push_back(partition.index(axis));
  }
  if (positions.empty() || !partition.active()) return x.detach();
  return reduce_fibre("AllMax", partition, positions, x.detach(), [](const std::vector<at::Tensor>& terms) {
    at::Tensor greatest = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) greatest = at::maximum(greatest, terms[i]);
    return greatest;
  });
}

}  // namespace riesz
