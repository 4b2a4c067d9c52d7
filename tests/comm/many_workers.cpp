// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// More workers than a test of its own has, on one host: they exchange pieces of random sizes, each with
// random others, and compare what comes. Rank 0 prints what memory that takes.
//   mpirun -n 128 many_workers [--rounds 40] [--peers 6]
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"

namespace {

using riesz::Runtime;
using riesz::Transfer;

/// MiB that a file of /proc/self says of this process, such as "VmRSS:" of status.
double mib(const std::string& file, const std::string& line) {
  std::ifstream text("/proc/self/" + file);
  double kib = 0;
  for (std::string word; text >> word;) {
    if (word == line) text >> kib;
  }
  return kib / 1024;
}

double most_of_all(double mine) {
  double most = 0;
  for (const at::Tensor& each :
       riesz::collect("memory", riesz::Partition::world(), at::scalar_tensor(mine, at::kDouble)))
    most = std::max(most, each.item<double>());
  return most;
}

/// What ends with this process, and its part of what others have too.
void print_memory(const char* when) {
  const double whole = most_of_all(mib("status", "VmRSS:"));
  const double shared = most_of_all(mib("status", "RssShmem:"));
  const double own =
      most_of_all(mib("smaps_rollup", "Private_Clean:") + mib("smaps_rollup", "Private_Dirty:"));
  const double part = most_of_all(mib("smaps_rollup", "Pss:"));
  if (Runtime::rank() == 0)
    std::printf(
        "%s: at most %.0f MiB in a worker, %.1f of them shared; %.1f MiB its own, %.1f its part of all\n",
        when, whole, shared, own, part);
}

double value(int round, int from, int to) { return 1e4 * round + 1e2 * from + to; }

/// All workers draw the same table, and take their row and their column.
void exchange_at_random(int round, int peers) {
  std::minstd_rand draw(static_cast<unsigned>(round + 1));
  const int me = Runtime::rank(), p = Runtime::size();
  std::vector<Transfer> sends, receives;
  std::vector<double> expected;
  for (int from = 0; from < p; ++from) {
    for (int i = 0; i < peers; ++i) {
      const int to = static_cast<int>(draw() % static_cast<unsigned>(p));
      const std::int64_t count = std::vector<std::int64_t>{1, 50, 3000, 20'000}[draw() % 4];
      if (from == to) continue;
      if (from == me) sends.push_back({to, at::full({count}, value(round, from, to), at::kDouble)});
      if (to != me) continue;
      receives.push_back({from, at::empty({count}, at::kDouble)});
      expected.push_back(value(round, from, to));
    }
  }
  const std::vector<Transfer> arrived = receives;
  riesz::Communicator::world().exchange("a random map", std::move(sends), std::move(receives));
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    const at::Tensor& got = arrived[i].span.data;
    RIESZ_CHECK(at::equal(got, at::full_like(got, expected[i])), "round ", round, ": another came from rank ",
                arrived[i].peer);
  }
}

int body(int argc, char** argv) {
  int rounds = 40, peers = 6;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--peers") peers = std::atoi(argv[i + 1]);
  }
  print_memory("at the start");
  for (int round = 0; round < rounds; ++round) exchange_at_random(round, peers);
  print_memory("after random maps");
  if (Runtime::rank() == 0) std::puts("all came");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
