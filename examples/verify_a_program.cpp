// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// verify_a_program [FILE.svg]: a program of three workers that wait for each other in a circle, verified in one process.
// docs/guides/verify.md shows it, what it prints, and the picture that it draws.
#include <ATen/ops/zeros.h>
#include <riesz/riesz.h>

#include <cstdio>
#include <fstream>

using namespace riesz;

/// Worker `from` sends 1,000 numbers to worker `to`. Both call this.
void send(int from, int to) {
  const Space X(Partition::world().subset({from}), {1000});
  const Space Y(Partition::world().subset({to}), {1000});
  between(X, Y)({X, at::zeros(X.local_shape())});
}

/// Each worker waits for the one before it, and only then sends to the next.
void step(int rank, int workers) {
  const LayerScope layer("ring");
  send((rank + workers - 1) % workers, rank);
  send(rank, (rank + 1) % workers);
}

int verify_ring(int arguments, char** words) {
  constexpr int workers = 3;
  std::vector<Recording> all;
  for (int rank = 0; rank < workers; ++rank) {
    Recorder recorder;
    {
      const Simulation job(rank, workers, &recorder);
      const WithoutValues nothing_is_computed;
      step(rank, workers);
    }
    all.push_back(recorder.take());
  }
  const StandIns own = each_its_own();  // each worker has a recording of its own
  const Matching matching = match(all, own);
  const Fault fault =
      matching.faults.empty() ? fault_of_waits(all, own, matching, most_untaken()) : matching.faults.front();
  std::printf("%s\n", fault.empty() ? "nothing is wrong" : to_string(fault).c_str());
  if (arguments < 2 || fault.empty()) return 0;
  std::ofstream file(words[1]);
  file << svg(fault, all, own, matching) << std::flush;
  return file ? 0 : 1;
}

int main(int argc, char** argv) { return run_main(argc, argv, verify_ring); }
