// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "riesz/app/doctor/finding.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/between.h"

namespace riesz::app {
namespace {

constexpr std::ptrdiff_t kRanks = 4;       // at least: all pairs of many ranks would take long
constexpr std::ptrdiff_t kMostHosts = 16;  // in rounds of 8 pairs at once
constexpr double kSlow = 0.1;              // GB/s; Ethernet of 1 Gbit/s has 0.12

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one way, of messages of n floats that go to and fro: the least of some rounds. While another
/// program has a rank's processor, a round is slow, however fast the link is.
double one_way(const Partition& a, const Partition& b, std::int64_t n, int times, int rounds) {
  const Space X(a, {n}), Y(b, {n});
  const Operator there = between(X, Y), back = between(Y, X);
  Vector x = distribute(X, at::zeros({n}));
  double least = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now();
    for (int i = 0; i < times; ++i) x = back(there(x));
    least = std::min(least, (now() - begin) / (2 * times));
  }
  return least;
}

/// What a pair measures.
struct Link {
  double small = 0, large = 0;  ///< seconds
  double shared = 0;            ///< 1: over memory that both share
};

std::string name_of(int rank, const std::vector<std::string>& hosts) {
  const bool several =
      std::any_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host != hosts[0]; });
  return concat("rank ", rank, several ? " (" + hosts[static_cast<std::size_t>(rank)] + ")" : "");
}

Finding finding(const std::string& what, const Link& link) {
  const double speed = (4 << 20) / link.large / 1e9;
  char text[160];
  std::snprintf(text, sizeof text, "%s, %.0f us for 1 KiB, %.2f GB/s for 4 MiB",
                link.shared == 1 ? "shared memory" : "MPI", link.small * 1e6, speed);
  const char* const remedy = link.shared == 1 ? "slow: other programs use this host's processors"
                                              : "slow: choose the fast network, with Open MPI by "
                                                "OMPI_MCA_btl_tcp_if_include=NAME, such as eth1";
  return {what, text, speed < kSlow ? remedy : ""};
}

/// First a rank of each host, then others by their number.
std::vector<int> measured(const std::vector<int>& first_ranks) {
  std::vector<int> ranks(first_ranks.begin(),
                         first_ranks.begin() + std::min<std::ptrdiff_t>(std::ssize(first_ranks), kMostHosts));
  for (int rank = 0; rank < Runtime::size() && std::ssize(ranks) < kRanks; ++rank) {
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// All pairs, in rounds in which no rank is in two pairs: those of a round are measured at once.
std::vector<std::pair<int, int>> rounds_of_pairs(std::vector<int> ranks) {
  std::vector<std::pair<int, int>> pairs;
  if (ranks.size() % 2 != 0) ranks.push_back(-1);  // its partner has a pause
  const std::size_t n = ranks.size();
  for (std::size_t round = 0; round + 1 < n; ++round) {
    for (std::size_t i = 0; i < n / 2; ++i) {
      const auto [a, b] = std::minmax(ranks[i], ranks[n - 1 - i]);
      if (a >= 0) pairs.emplace_back(a, b);
    }
    std::rotate(ranks.begin() + 1, ranks.end() - 1, ranks.end());  // all but the first take the next place
  }
  return pairs;
}

}  // namespace

std::vector<Finding> examine_links(const std::vector<std::string>& hosts,
                                   const std::vector<int>& first_ranks) {
  const Partition world = Partition::world();
  const std::vector<std::pair<int, int>> pairs = rounds_of_pairs(measured(first_ranks));
  if (pairs.empty()) return {};
  const at::Tensor mine = at::zeros({std::ssize(pairs), 3}, at::kDouble);
  for (std::int64_t i = 0; i < std::ssize(pairs); ++i) {
    const auto [a, b] = pairs[static_cast<std::size_t>(i)];
    const Partition A = world.subset({a}), B = world.subset({b});
    mine[i][0].fill_(one_way(A, B, 256, 50, 3));
    mine[i][1].fill_(one_way(A, B, 1 << 20, 1, 12));
    if (Runtime::rank() == a) mine[i][2].fill_(Communicator::world().shares_memory_with(b) ? 1 : 0);
  }
  const std::vector<at::Tensor> all = collect("doctor", world, mine);
  std::map<std::pair<int, int>, Finding> findings;  // in the order of ranks
  for (std::int64_t i = 0; i < std::ssize(pairs); ++i) {
    const auto [a, b] = pairs[static_cast<std::size_t>(i)];
    const at::Tensor row = all[static_cast<std::size_t>(a)][i];
    const auto number = [&](std::int64_t column) { return row[column].item<double>(); };
    findings[{a, b}] =
        finding(name_of(a, hosts) + " to " + name_of(b, hosts), {number(0), number(1), number(2)});
  }
  std::vector<Finding> list;
  for (auto& [pair, one] : findings) list.push_back(std::move(one));
  return list;
}

}  // namespace riesz::app
