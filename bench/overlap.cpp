// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Start, compute, wait: over a transport whose messages take a time d, with matrix products that alone take a
// time c between the halves, in forward and in backward. Prints the pair's time over max(c, d), which is 1
// where all is hidden and 2 where nothing is (c = d), median and spread of 15 runs; and the call without
// halves for comparison.
//   mpirun -n 2 overlap
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// MPI, but a round of messages is not done before `delay` has passed.
class Delayed final : public Transport {
 public:
  explicit Delayed(double delay) : delay_(delay) {}
  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<Late>(Clock::now() + std::chrono::duration_cast<Clock::duration>(delay_),
                                  inner_.post(std::move(sends), std::move(receives)));
  }

 private:
  class Late final : public Requests {
   public:
    Late(Clock::time_point time, std::unique_ptr<Requests> inner) : time_(time), inner_(std::move(inner)) {}
    bool done() override { return Clock::now() >= time_ && inner_->done(); }
    std::vector<int> unfinished() const override { return inner_->unfinished(); }

   private:
    Clock::time_point time_;
    std::unique_ptr<Requests> inner_;
  };

  Seconds delay_;
  MpiTransport inner_;
};

double seconds_of(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  return Seconds(Clock::now() - begin).count();
}

/// Matrix products, as many as take about so many seconds. They, unlike a clock to wait for, take longer if
/// moving messages takes processor time from them.
class Work {
 public:
  explicit Work(double seconds) {
    constexpr int kTrial = 50;
    products_ = kTrial;
    (*this)();  // warm
    const double each = seconds_of([this] { (*this)(); }) / kTrial;
    products_ = std::max(1, static_cast<int>(seconds / each));
    std::vector<double> times;
    for (int i = 0; i < 15; ++i) times.push_back(seconds_of([this] { (*this)(); }));
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    alone_ = times[7];
  }

  void operator()() const {
    for (int i = 0; i < products_; ++i) at::mm(a_, b_);
  }
  /// Its seconds with nothing beside it, the median of 15.
  double alone() const { return alone_; }

 private:
  at::Tensor a_ = at::rand({96, 96}), b_ = at::rand({96, 96});
  int products_ = 0;
  double alone_ = 0;
};

void print(const char* name, double c, double d, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double most = std::max(c, d);
  if (Runtime::rank() != 0) return;
  std::printf("%-22s c = %3.0f ms, d = %3.0f ms: %.3f of max(c, d) (%.3f to %.3f)\n", name, 1e3 * c, 1e3 * d,
              times[times.size() / 2] / most, times.front() / most, times.back() / most);
  std::fflush(stdout);
}

/// A reduction has two rounds, each of d / 2; a gather has one.
void measure(const char* name, const Operator& A, int rounds, const Work& work, double d) {
  const double c = work.alone();
  auto kept = set_world_communicator(std::make_unique<Communicator>(std::make_unique<Delayed>(d / rounds)));
  const Vector x(A.domain(), at::rand(A.domain().local_shape()).requires_grad_());
  std::vector<double> forward, backward_times, whole;
  for (int i = 0; i < 15; ++i) {
    Chain chain;
    Vector y = x;
    forward.push_back(seconds_of([&] {
      Pending pending = A.start(x);
      work();
      y = pending.wait();
    }));
    chain.restart();
    Pending pending = A.start(x);
    const at::Tensor beside = x.local().mul(2);  // its backward is computed between the halves of backward
    beside.register_hook([&](const at::Tensor&) { work(); });
    y = pending.wait();
    const Vector sum(y.space(), y.local().add(beside.sum()));
    backward_times.push_back(
        seconds_of([&] { pullback(sum, Vector(dual(sum.space()), at::ones_like(sum.local())), {x}); }));
    const at::NoGradGuard guard;
    whole.push_back(seconds_of([&] {
      A(x);
      work();
    }));
  }
  print((std::string(name) + " forward").c_str(), c, d, forward);
  print((std::string(name) + " backward").c_str(), c, d, backward_times);
  print((std::string(name) + " in one call").c_str(), c, d, whole);
  set_world_communicator(std::move(kept));
}

int run(int, char**) {
  const Partition world = Partition::world();
  const Space X(world, {1024, 64});
  for (const auto& [c, d] : {std::pair{0.02, 0.02}, {0.04, 0.02}, {0.02, 0.04}}) {
    const Work work(c);
    measure("AllGather", between(X.sharded(0, "world"), X.copied("world")), 1, work, d);
    measure("AllReduce", between(X.partial("world"), X.copied("world")), 2, work, d);
  }
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
