// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz::testing {

/// Texts from and to all ranks of the job, beside the traffic under test: over messages of its own, so that a
/// test in which one rank left early is still reported. Made by all ranks together; it ends before MPI does.
class AllRanks {
 public:
  AllRanks();
  ~AllRanks();
  AllRanks(const AllRanks&) = delete;
  AllRanks& operator=(const AllRanks&) = delete;

  /// Each rank's text, by rank. Collective over the job.
  std::vector<std::string> gather(const std::string& mine);

 private:
  std::unique_ptr<Transport> transport_;
};

/// Such as "rank 1" or "ranks 0-3, 5"; the ranks ascend.
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace riesz::testing
