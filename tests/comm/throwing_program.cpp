// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program that ends in the way its argument names, mostly by an exception; the process tests beside it
// watch it end.
#include <ATen/ops/ones.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/team/buffer.h"
#include "riesz/comm/team/host_tensor.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"
#include "riesz/partition/pairing.h"

namespace {

/// Milliseconds since the epoch, by which ends_soon.sh knows how long the job outlives the exception.
std::string now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return " at " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

void wait_for_the_others() { riesz::collect("wait", riesz::Partition::world(), at::ones({1})); }

/// Each time that it asks, the others on the machine have the core for a while, as under a heavy load.
int wait_where_others_compute() {
  const auto begin = std::chrono::steady_clock::now();
  const auto too_long = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(90));
    return std::chrono::steady_clock::now() - begin > 2.5 * riesz::deadline();
  };
  riesz::wait_until("what never comes", too_long, [] { return std::vector<int>{}; });
  std::puts("outlived its deadline");
  return 0;
}

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// Rank 1 reads rank 0's memory where it lies and comes to its end, when the way back, by which it says so,
/// is full of what rank 0 has yet to receive.
int end_with_an_answer_in_hand() {
  using riesz::Communicator;
  riesz::TeamBuffer buffer({0, 1}, 100000, at::kFloat);
  const std::vector<int> fill(4096,
                              riesz::Runtime::rank() == 0 ? 1 : 0);  // of 64 bytes each, all that it holds
  std::vector<riesz::Transfer> transfers;
  for (const int peer : fill) transfers.push_back({peer, at::ones({1}, at::kDouble)});
  const auto wait = [](const char* what, riesz::Requests& requests) {
    riesz::wait_until(
        what, [&] { return requests.done(); }, [&] { return requests.unfinished(); });
  };
  Communicator& world = Communicator::world();
  if (riesz::Runtime::rank() == 0) {
    const auto lent = world.reserve({1}, {}).post("lent", {{1, buffer.local()}}, {});
    sleep_for(1000);
    wait("lent", *lent);
    wait("fill", *world.reserve({}, fill).post("", {}, std::move(transfers)));
    std::puts("came to the end");
  } else {
    sleep_for(500);
    wait("fill", *world.reserve(fill, {}).post("", std::move(transfers), {}));
    world.exchange("lent", {}, {{0, at::ones({100000}, at::kFloat)}});
  }
  return 0;
}

/// Something under way for a while, and then in order or not.
class Under final : public riesz::BackgroundTask {
 public:
  Under(int milliseconds, bool fails)
      : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds)), fails_(fails) {}

 private:
  bool progress() override {
    if (fails_) riesz::throw_error("thrown behind a simulation");
    return std::chrono::steady_clock::now() > end_;
  }
  const std::string& operation() const override { return name_; }
  std::vector<int> waits_for() const override { return {}; }

  std::chrono::steady_clock::time_point end_;
  bool fails_;
  std::string name_ = "something";
};

/// Threads that wait for what never comes, the second one's within the first's, and go as their maker throws.
void throw_beside_a_thread() {
  const auto wait = [](int channel) {
    const riesz::ChannelScope in(channel);
    riesz::Communicator::world().exchange("never", {}, {{1, at::ones({1})}});
  };
  const riesz::Thread waits([&] {
    const riesz::Thread within([&] { wait(1); });
    wait(2);
  });
  sleep_for(300);
  riesz::throw_error("thrown beside a thread");
}

void fail_behind_a_simulation() {
  const auto fails = std::make_shared<Under>(0, true);
  const riesz::Simulation simulation(0, 2);
  const auto lasts = std::make_shared<Under>(1000, false);
  fails->advance();
  riesz::run_in_background(lasts);
}

/// The status that a child of this process ends with; it is killed if it takes long.
int status_of_child(const std::function<void()>& ends) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    ends();
    std::_Exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Children are no workers: however one ends, the job goes on, and so does what workers share.
/// @return in a child nothing: the body's status, with which it comes to its end as a program does.
std::optional<int> fork_some(const std::string& way) {
  riesz::HostTensor shared({0, 1}, {1000}, at::kFloat);
  if (riesz::Runtime::rank() == 0) shared.local().fill_(7);
  wait_for_the_others();
  if (riesz::Runtime::rank() == 1) {
    std::fflush(stdout);
    int status = 0;
    if (way == "fork_returns") {
      const pid_t child = fork();
      if (child == 0) return alarm(10), 4;
      waitpid(child, &status, 0);
      status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else {
      status = status_of_child([&] {
        if (way == "fork_quits") _exit(4);
        if (way == "fork_exits") std::exit(4);
        riesz::throw_error("thrown by a child");  // and run_main reports it
      });
    }
    std::printf("the child ended with %d, the memory has %g\n", status, shared.local().sum().item<double>());
  }
  wait_for_the_others();
  return std::nullopt;
}

int body(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  wait_for_the_others();
  if (way == "one" && riesz::Runtime::rank() == 1) riesz::throw_error("thrown by one" + now());
  if (way == "standard" && riesz::Runtime::rank() == 0) throw std::logic_error("thrown by a library" + now());
  if (way == "long" && riesz::Runtime::rank() == 0) throw std::logic_error(std::string(100000, 'x'));
  if (way == "unknown" && riesz::Runtime::rank() == 0) const riesz::Thread unwatched([] { throw 42; });
  if (way == "all") throw riesz::Error("thrown by all" + now());
  if (way == "torch" && riesz::Runtime::rank() == 0) {
    riesz::Thread([] {
      const riesz::LayerScope layer("transformer.h.0.attn");
      at::ones({2}).view({3});
    }).join();
  }
  if (way == "starves") return wait_where_others_compute();
  if (way == "answers") return end_with_an_answer_in_hand();
  if (way == "unwinds" && riesz::Runtime::rank() == 0) throw_beside_a_thread();
  if (way == "simulation") fail_behind_a_simulation();
  if (way == "exits" && riesz::Runtime::rank() == 1) std::exit(0);
  if (way == "quits" && riesz::Runtime::rank() == 1) std::_Exit(5);
  if (way == "vanishes" && riesz::Runtime::rank() == 1) std::_Exit(0);
  if (way == "returns" && riesz::Runtime::rank() == 1) return 0;
  if (way.starts_with("fork_")) {
    if (const std::optional<int> status = fork_some(way)) return *status;
  }
  if (way == "code") return riesz::Runtime::rank() == 1 ? 3 : 0;
  wait_for_the_others();
  if (riesz::Runtime::rank() == 0) std::puts("came to the end");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
