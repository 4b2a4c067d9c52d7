// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What several workers of a host get from another host goes there once: by plans of any workers, and here as
// if some ranks each were a host.
#include "riesz/primitives/plan/host_copy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "random_spaces.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/transports/router.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/execution.h"
#include "riesz/primitives/plan/box_rounds.h"
#include "riesz/primitives/plan/fibre_rounds.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

using Plans = std::vector<Rounds>;  // by worker

at::Tensor packed(const at::Tensor& whole, const std::vector<Box>& boxes) {
  std::vector<at::Tensor> parts;
  for (const Box& box : boxes) parts.push_back(narrow(whole, box).reshape({-1}));
  return at::cat(parts);
}

void unpack(const at::Tensor& message, const std::vector<Box>& boxes, const at::Tensor& whole, bool add) {
  std::int64_t begin = 0;
  for (const Box& box : boxes) {
    const at::Tensor place = narrow(whole, box);
    const at::Tensor part = message.narrow(0, begin, place.numel()).view(place.sizes());
    add ? place.add_(part) : place.copy_(part);
    begin += place.numel();
  }
  EXPECT_EQ(begin, message.numel());
}

/// Follows the plans of all workers: every message has its receive, and nothing is given on that has not
/// come.
std::vector<at::Tensor> follow(const Plans& plans, const std::vector<at::Tensor>& xs) {
  std::vector<at::Tensor> ys;
  std::size_t rounds = 0;
  for (std::size_t me = 0; me < plans.size(); ++me) {
    const bool flat = plans[me].flat;
    ys.push_back(at::full(flat ? xs[me].sizes().vec() : plans[me].y_shape, flat ? 0 : -1, at::kLong));
    rounds = std::max(rounds, plans[me].rounds.size());
  }
  for (std::size_t k = 0; k < rounds; ++k) {
    std::map<std::pair<int, int>, at::Tensor> messages;
    const auto each = [&](const auto& f) {
      for (std::size_t me = 0; me < plans.size(); ++me)
        if (k < plans[me].rounds.size()) f(static_cast<int>(me), plans[me].rounds[k]);
    };
    const auto at = [](const std::vector<at::Tensor>& all, int me) {
      return all[static_cast<std::size_t>(me)];
    };
    each([&](int me, const Round& round) {
      for (const Round::Send& send : round.sends) {
        const at::Tensor source = at(round.source == Round::Source::x ? xs : ys, me);
        const at::Tensor message = packed(source, send.parts.boxes);
        EXPECT_TRUE(message.ge(0).all().item<bool>()) << me << " gives on what has not come";
        EXPECT_TRUE((messages.emplace(std::pair{me, send.peer}, message).second)) << "one message to each";
      }
    });
    each([&](int me, const Round& round) {
      for (std::size_t i = 0; i < round.receives.size(); ++i) {
        const auto& [peer, parts] = round.receives[i];
        const bool stays = round.stays_at == i;
        ASSERT_TRUE(stays || (messages.contains({peer, me}))) << peer << " sends nothing to " << me;
        unpack(stays ? packed(at(xs, me), round.stays.boxes) : messages.at({peer, me}), parts.boxes,
               at(ys, me), round.combination != Round::Combination::copy);
        if (!stays) messages.erase({peer, me});
      }
    });
    EXPECT_TRUE(messages.empty()) << "sent and not received";
  }
  return ys;
}

/// The elements that go from one host to another.
std::int64_t between_hosts(const Plans& plans, const Hosts& hosts) {
  std::int64_t elements = 0;
  for (std::size_t me = 0; me < plans.size(); ++me) {
    for (const Round& round : plans[me].rounds)
      for (const Round::Send& send : round.sends)
        if (on_two_hosts(hosts, static_cast<int>(me), send.peer)) elements += send.parts.elements;
  }
  return elements;
}

std::int64_t sent(const Plans& plans) {
  std::int64_t elements = 0;
  for (const Rounds& each : plans) elements += each.traffic().elements;
  return elements;
}

struct Planned {
  Plans direct, by_hosts;
};
/// Both plans of a move between spaces that `ends(me)` makes as worker `me` has them; they bring the same.
template <typename Ends>
Planned planned(int workers, const Hosts& hosts, const Ends& ends) {
  Planned both;
  std::vector<at::Tensor> xs;
  bool adds = false;
  for (int me = 0; me < workers; ++me) {
    const auto [X, Y] = ends(me);
    std::vector<int> axes;
    for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) axes.push_back(a);
    both.direct.push_back(box_rounds(X, Y, axes, me, {}));
    both.by_hosts.push_back(box_rounds(X, Y, axes, me, hosts));
    const int rank = X.partition().rank_in(me);
    xs.push_back(rank < 0 ? at::full({0}, 0, at::kLong) : global_indices(X, rank));
    for (const Round& round : both.direct.back().rounds)
      adds = adds || round.combination != Round::Combination::copy;
  }
  if (adds) {  // a sum in two steps would have other bits
    for (std::size_t me = 0; me < both.direct.size(); ++me) {
      EXPECT_EQ(both.by_hosts[me].rounds.size(), 1U);
      EXPECT_EQ(both.by_hosts[me].traffic(), both.direct[me].traffic());
    }
    return both;
  }
  const std::vector<at::Tensor> expected = follow(both.direct, xs);
  const std::vector<at::Tensor> found = follow(both.by_hosts, xs);
  for (std::size_t me = 0; me < expected.size(); ++me) EXPECT_SAME_BITS(found[me], expected[me]);
  EXPECT_EQ(sent(both.by_hosts), sent(both.direct));
  EXPECT_LE(between_hosts(both.by_hosts, hosts), between_hosts(both.direct, hosts));
  return both;
}

/// Hosts of four, of other numbers, and of workers that do not follow each other.
const std::vector<Hosts> kHosts{{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8},
                                {0, 1, 1, 1, 1, 1, 6, 6, 8, 8, 8, 8},
                                {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}};

std::int64_t other_hosts(const Hosts& hosts) {
  return static_cast<std::int64_t>(std::set<int>(hosts.begin(), hosts.end()).size()) - 1;
}

TEST(HostCopies, GoToAHostOnceByAnyPlan) {
  for (const Hosts& hosts : kHosts) {
    for (const std::int64_t n : {12, 31, 200'000}) {
      SCOPED_TRACE(n);
      const auto gather = planned(12, hosts, [n](int me) {
        const Space X(Partition::simulated(12, me), {n, 2});
        return std::pair(X.sharded(0, "world"), X.copied("world"));
      });
      EXPECT_EQ(between_hosts(gather.by_hosts, hosts), other_hosts(hosts) * 2 * n);
      const auto broadcast = planned(12, hosts, [n](int me) {
        const Partition world = Partition::simulated(12, me);
        return std::pair(Space(world.subset({5}), {n}), Space(world, {n}).copied("world"));
      });
      EXPECT_EQ(between_hosts(broadcast.by_hosts, hosts), other_hosts(hosts) * n);
    }
  }
}

TEST(HostCopies, BringTheSameByAnyPlan) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    planned(12, kHosts[seed % 3], [seed](int me) { return random_ends(seed, 12, me); });
  }
}

/// Every receiver of a host has a part of the work.
TEST(HostCopies, HaveNoLeader) {
  const Hosts& hosts = kHosts.front();
  const auto broadcast = planned(12, hosts, [](int me) {
    const Partition world = Partition::simulated(12, me);
    return std::pair(Space(world.subset({0}), {80'000}), Space(world, {80'000}).copied("world"));
  });
  for (std::size_t me = 4; me < 12; ++me)
    EXPECT_EQ(broadcast.by_hosts[me].traffic(), (Traffic{3 * 20'000, 0, 3}));
  const auto gather = planned(12, hosts, [](int me) {
    const Space X(Partition::simulated(12, me), {1200});
    return std::pair(X.sharded(0, "world"), X.copied("world"));
  });
  for (const Rounds& each :
       gather.by_hosts)  // to three here and one of each other host; two that came, to three
    EXPECT_EQ(each.traffic(), (Traffic{5 * 100 + 2 * 100 * 3, 0, 5 + 3}));
}

TEST(HostCopies, OfASumAreItsChunks) {
  for (const Hosts& hosts : kHosts) {
    for (const std::int64_t n : {1, 7, 500, 300'000}) {
      Planned both;
      std::vector<at::Tensor> xs;
      for (int me = 0; me < 12; ++me) {
        const Partition world = Partition::simulated(12, me);
        const auto plan = [&](const Hosts& of) {
          return fibre_rounds(world, {0}, me, n, Round::Combination::sum, of);
        };
        both.direct.push_back(plan({}));
        both.by_hosts.push_back(plan(hosts));
        xs.push_back(at::full({n}, me + 1, at::kLong));
      }
      follow(both.direct, xs);
      follow(both.by_hosts, xs);
      EXPECT_EQ(sent(both.by_hosts), sent(both.direct));
      std::int64_t terms = 0;  // of other hosts' chunks
      for (int a = 0; a < 12; ++a)
        for (int b = 0; b < 12; ++b)
          if (on_two_hosts(hosts, a, b)) terms += balanced_interval(n, 12, 1, b).size();
      EXPECT_EQ(between_hosts(both.by_hosts, hosts), terms + other_hosts(hosts) * n);
    }
  }
}

/// As if so many ranks each were a host.
class AsHosts {
 public:
  explicit AsHosts(int ranks_per_host) {
    finish_background();
    kept_ = set_world_communicator(
        std::make_unique<Communicator>(make_transport({.ranks_per_host = ranks_per_host})));
  }
  ~AsHosts() {
    finish_background();
    set_world_communicator(std::move(kept_));
  }
  AsHosts(const AsHosts&) = delete;
  AsHosts& operator=(const AsHosts&) = delete;

 private:
  std::unique_ptr<Communicator> kept_;
};

std::vector<Operator> operators(std::int64_t n) {
  const Partition world = Partition::world();
  const Space X(world, {n, 3});
  const Space root(world.subset({world.size() - 1}), X.shape());
  return {between(X.sharded(0, "world"), X.copied("world")), between(X.sharded(1, "world"), X),
          between(root, X.copied("world")), between(X.partial("world"), X.copied("world"))};
}

TEST(HostCopies, HaveTheBitsOfDirectOnes) {
  const at::NoGradGuard guard;
  for (const int per_host : {2, 3}) {
    std::vector<at::Tensor> direct;
    std::vector<Vector> xs;
    for (const std::int64_t n : {5, 30'000}) {
      for (const Operator& A : operators(n)) {
        xs.push_back(random_vector(A.domain(), 1, true, n == 5 ? at::kDouble : at::kBFloat16));
        direct.push_back(A(xs.back()).local());
      }
    }
    const AsHosts hosts(per_host);
    std::vector<Operator> all = operators(5);
    for (const Operator& A : operators(30'000)) all.push_back(A);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(to_string(all[i]));
      Counters::instance().reset();
      EXPECT_SAME_BITS(all[i](xs[i]).local(), direct[i]);
      const Partition& P = all[i].domain().partition();
      const Traffic counted = Counters::instance().total();
      Traffic planned;  // with what it gives on
      for (const Step& step : all[i].steps()) planned += step->rounds()->traffic();
      EXPECT_EQ(counted, (Traffic{planned.elements, counted.bytes, planned.messages}));
      if (P.active()) {
        EXPECT_EQ(counted.elements, all[i].traffic(P.rank()).elements);
      }
    }
    std::vector<Pending> started;
    for (std::size_t i = 0; i < all.size(); ++i) started.push_back(all[i].start(xs[i]));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_SAME_BITS(started[i].wait().local(), direct[i]);
    const std::vector<Vector> ys = together(all, xs);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_SAME_BITS(ys[i].local(), direct[i]);
  }
}

TEST(HostCopies, HaveTheirAdjoints) {
  for (const int per_host : {2, 3}) {
    const AsHosts hosts(per_host);
    for (const Operator& A : operators(7)) {
      EXPECT_ADJOINT(A);
      EXPECT_ADJOINT(adjoint(A));
    }
  }
}

}  // namespace
}  // namespace riesz::testing
