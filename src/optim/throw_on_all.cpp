// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/throw_on_all.h"

#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/primitives/all_max.h"

namespace riesz {

void throw_on_all(const Partition& P, const std::string& failed) {
  std::vector<std::string> axes;
  for (const Axis& axis : P.axes()) axes.push_back(axis.name);
  if (every_flag(P, axes, failed.empty())) return;
  for (const std::string& text : collect_texts(P, failed))
    if (!text.empty()) throw Error(text);  // it has its worker's prefix
}

}  // namespace riesz
