// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs whose last worker but one does something else than the others, for the tests of what is then said:
//   faulty_program
//   skips|other|bytes|data|swaps|shapes|pairs|counts|rows|sleeps|stops|killed|drops|stops_in_mpi
// And such in which the last worker sees an error while it waits for others too, in a call or in one that it
// dropped:
//   faulty_program lonely|lonely_dropped
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max.h>
#include <ATen/ops/ones.h>
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/all_to_all_v.h"
#include "riesz/primitives/between.h"

namespace {

bool stops_in_mpi = false;

}  // namespace

extern "C" int MPI_Finalize() {  // NOLINT(readability-identifier-naming): MPI's name
  if (stops_in_mpi) std::raise(SIGSTOP);
  return PMPI_Finalize();
}

namespace riesz {
namespace {

void sleep() { std::this_thread::sleep_for(std::chrono::seconds(60)); }

long long milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void misbehave(const std::string& what) {
  if (what == "sleeps") sleep();
  if (what == "stops") std::raise(SIGSTOP);
  if (what != "killed") return;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others wait by then
  std::printf("killed at %lld\n", milliseconds());
  std::fflush(stdout);
  std::raise(SIGKILL);
}

/// Only the last worker begins the sum. The worker before it has sent it another operator's message, and the
/// others nothing: so it alone sees an error.
void see_alone(const Operator& sum, const Vector& x, bool dropped) {
  const Partition world = Partition::world();
  const int last = world.size() - 1;
  const Operator send = between(Space(world.subset({last - 1}), {5}), Space(world.subset({last}), {5}));
  if (world.rank() == last - 1)
    send(Vector(send.domain(), at::ones({5}, at::kDouble)));
  else if (world.rank() == last && dropped)
    static_cast<void>(sum.start(x));
  else if (world.rank() == last)
    sum(x);
  sleep();
}

/// Two sums of as many bytes; who swaps makes the second first.
void two_sums(const Operator& first, const Operator& second, bool swaps) {
  const auto value = [](const Operator& sum, double of_each) {
    return sum(Vector(sum.domain(), at::full(sum.domain().local_shape(), of_each, at::kDouble)));
  };
  if (swaps) value(second, 100);
  const double one = value(first, 1).local().max().item<double>();
  const double two = swaps ? 0 : value(second, 100).local().max().item<double>();
  std::printf("the sums are %g and %g\n", one, two);
}

/// Calls of as many bytes each way, of other vectors, axes or rows where this worker is the odd one.
void of_other_things(const std::string& what, bool odd) {
  const Partition grid = Partition::world().grid({{"dp", 2}, {"tp", 2}});
  const auto product = [](const Space& X) {
    return pairing(distribute(X, at::ones(X.shape(), at::kDouble)),
                   distribute(dual(X), at::ones(X.shape(), at::kDouble)));
  };
  if (what == "pairs") std::printf("the product is %g\n", product(Space(grid, {odd ? 30000 : 8})));
  if (what == "counts") {
    const Partition other = Partition::world().grid({{"tp", 2}, {"dp", 2}});
    all_counts(odd ? other : grid, {odd ? "tp" : "dp"}, 1);
  }
  if (what == "rows") {
    const std::vector<at::Tensor> pieces(4, odd ? at::ones({2, 3, 2}) : at::ones({2, 2, 3}));
    std::printf("the rows are %d\n", static_cast<int>(all_to_all_v(grid, {"dp", "tp"}, pieces).size()));
  }
}

int run(int argc, char** argv) {
  const at::NoGradGuard no_gradient;
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "begins") {
    std::printf("the program began\n");
    return 0;
  }
  const Partition world = Partition::world().grid({{"tp", Runtime::size()}});
  const bool odd = Runtime::rank() == Runtime::size() - 2;
  const Space X = Space(world, {8, 3});
  const Operator sum = between(X.partial("tp"), X.copied("tp"));
  const Operator gather = between(X.sharded(0, "tp"), X.copied("tp"));
  const Vector x(sum.domain(), at::ones(sum.domain().local_shape(), at::kDouble));
  const Vector piece(gather.domain(), at::ones(gather.domain().local_shape(), at::kDouble));

  StatusBoard::note("step 1");
  if (what == "lonely" || what == "lonely_dropped") see_alone(sum, x, what == "lonely_dropped");
  sum(x);
  StatusBoard::note("step 2");
  if (odd) misbehave(what);
  if (what == "data") between(X, X.copied("tp"))({X, at::full(X.local_shape(), odd ? 2. : 1., at::kDouble)});
  if (odd && what == "other") gather(piece);
  if (odd && what == "bytes") sum(Vector(sum.domain(), x.local().to(at::kFloat)));
  const bool different = what == "skips" || what == "other" || what == "bytes";
  if (!odd || !different) sum(x);
  const Space Z = Space(world, {4, 6});  // as many elements as X
  if (what == "swaps") two_sums(sum, between(X.partial("tp"), X), odd);
  if (what == "shapes") two_sums(sum, between(Z.partial("tp"), Z.copied("tp")), odd);
  if (what == "pairs" || what == "counts" || what == "rows") of_other_things(what, odd);
  StatusBoard::note("step 3");
  sum(x);
  stops_in_mpi = odd && what == "stops_in_mpi";
  if (odd && what == "drops") static_cast<void>(gather.start(piece));
  if (!odd) std::printf("came to the end\n");
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
