// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/nn/parameter.h"

namespace riesz {

/// The keepers (`Zero`) of a placed model's parameters in one run of its pipeline, by the chunks that use the
/// parameters: their own, and other chunks on the same workers (tied weights). To a chunk on other workers a
/// parameter is lent, and the gradient that comes back is no pass.
class RunKeepers {
 public:
  /// A run begins, of a number that no other has. Local.
  explicit RunKeepers(const Module& model);

  /// Tells those of a chunk that a micro-batch comes there: `came` is how often it came to each. Local.
  /// @throws Error as `ParameterKeeper::come`.
  void come_to(int chunk, std::map<const ParameterKeeper*, std::int64_t>& came) const;

 private:
  void add(int chunk, const Parameter& parameter);
  void add_used(const Module& module);

  std::uint64_t run_;
  std::map<int, std::vector<std::shared_ptr<ParameterKeeper>>> of_;  // each once
};

}  // namespace riesz
