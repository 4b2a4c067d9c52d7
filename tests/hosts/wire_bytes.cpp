// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What an AllGather and a Broadcast of 8 MiB take on the wire between two hosts, as the system counts it on
// the card named by the argument, in copies of the vector.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/plan/box_rounds.h"

namespace riesz {
namespace {

/// All bytes that this host's card has sent and received.
double bytes_on(const std::string& card) {
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double received = 0, sent = 0;
    words >> name >> received;
    if (name != card + ":") continue;
    for (int i = 0; i < 8; ++i) words >> sent;
    return received + sent;
  }
  throw_error("there is no card " + card);
}

template <typename Move>
double copies_on(const std::string& card, const Move& move) {
  const Partition world = Partition::world();
  wait_for_all(world);
  const double before = bytes_on(card);
  move();
  wait_for_all(world);
  return (bytes_on(card) - before) / (8 << 20);
}

int body(int argc, char** argv) {
  RIESZ_CHECK(argc == 2, "wire_bytes: give the name of a card");
  const at::NoGradGuard guard;
  const Partition world = Partition::world();
  const Space X(world, {1 << 20});
  const Space root(world.subset({0}), X.shape());
  const Space all = X.copied("world");
  for (const Operator& A : {between(X.sharded(0, "world"), all), between(root, all)}) {
    const Step& step = A.steps().front();
    const at::Tensor x = at::full(A.domain().local_shape(), 1. + world.rank(), at::kDouble);
    const Rounds direct = box_rounds(A.domain(), A.range(), step->axes(), Runtime::rank(), {});
    at::Tensor y, expected;
    const double once = copies_on(argv[1], [&] { y = A({A.domain(), x}).local(); });
    const double direct_copies =
        copies_on(argv[1], [&] { expected = execute(step->operation(), direct, x); });
    RIESZ_CHECK(y.equal(expected), step->name(), " is not what the direct plan brings");
    if (Runtime::rank() == 0)
      std::printf("%s: %.2f copies on the wire, directly %.2f\n", step->name().c_str(), once, direct_copies);
  }
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::body); }
