// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/backward_passes.h"

#include <algorithm>
#include <vector>

namespace riesz {
namespace {

/// The passes of one team of workers.
struct Passes {
  std::vector<int> workers;  // by world rank, in order
  std::uint64_t count = 0;
};

/// One entry a team: a program has few.
thread_local std::vector<Passes> made;

std::vector<int> sorted_workers(const Partition& P) {
  std::vector<int> workers = P.workers();
  std::sort(workers.begin(), workers.end());
  return workers;
}

}  // namespace

std::uint64_t backward_passes(const Partition& P) {
  const std::vector<int> wanted = sorted_workers(P);
  std::uint64_t count = 0;
  for (const Passes& of : made) {
    if (std::includes(of.workers.begin(), of.workers.end(), wanted.begin(), wanted.end())) count += of.count;
  }
  return count;
}

void count_backward_pass(const Partition& P) {
  const std::vector<int> workers = sorted_workers(P);
  const auto found =
      std::find_if(made.begin(), made.end(), [&](const Passes& of) { return of.workers == workers; });
  if (found == made.end())
    made.push_back({workers, 1});
  else
    ++found->count;
}

}  // namespace riesz
