// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz::app {

/// One line of `riesz doctor`: what was checked, what was found, and what to do if it is wrong.
struct Finding {
  std::string what;
  std::string found;
  std::string remedy;  ///< "" where all is right
};

/// This host: processors, memory, huge pages, shared memory, threads, file locks. Local.
std::vector<Finding> examine_host();
/// The links between the first ranks of all hosts, of 16 at most. With fewer than four hosts also of further
/// ranks of the first host, so that there are four ranks. Says each link's transport, the time of a small
/// message and the speed of a large one. `hosts`: the name of each rank's host. Collective over the job; the
/// same on all ranks.
std::vector<Finding> examine_links(const std::vector<std::string>& hosts,
                                   const std::vector<int>& first_ranks);
/// ⟨A x, y⟩ = ⟨x, A* y⟩ for one move of each kind over all ranks. Collective over the job; the same on all.
std::vector<Finding> examine_adjoints();
/// A small GPT, trained by all ranks together and by each alone: the losses are the same. Collective
/// likewise.
std::vector<Finding> examine_training();

}  // namespace riesz::app
