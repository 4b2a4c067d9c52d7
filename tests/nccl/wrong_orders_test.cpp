// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Random programs of which one rank's differs: two calls in another order, a call that is left out, numbers
// of another size. Where workers compare, an error names both ends. Nothing else has wrong numbers.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../primitives/random_program.h"
#include "in_turns.h"
#include "on_nccl.h"
#include "riesz/comm/channel.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/background_task.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/transports/mpi.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Kind = Act::Kind;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// So long a program may stand still.
constexpr std::chrono::milliseconds kStill(2500);

std::vector<int> others() {
  std::vector<int> ranks;
  for (int rank = 0; rank < Runtime::size(); ++rank)
    if (rank != Runtime::rank()) ranks.push_back(rank);
  return ranks;
}

/// The texts of all ranks. By a communicator that no program has used.
std::vector<std::string> all_texts(const std::string& mine) {
  const at::Tensor text = at::full({2000}, 0, at::kByte);
  mine.copy(static_cast<char*>(text.mutable_data_ptr()), 1999);
  std::vector<std::string> all{mine};
  for (const at::Tensor& each : Communicator::world().host_allgather("texts", others(), text))
    all.emplace_back(static_cast<const char*>(each.const_data_ptr()));
  return all;
}

struct WrongProgram {
  int rank;
  InterleavedProgram program;
  std::string what;
};

/// Leaves out an operator whose result nobody uses. False if there is none.
bool leave_out(std::vector<Act>& acts, std::size_t from) {
  for (std::size_t i = 0; i < acts.size(); ++i) {
    const Act act = acts[(from + i) % acts.size()];
    if (act.kind != Kind::begin_aside) continue;
    std::erase_if(acts, [&](const Act& each) {
      const bool aside = each.kind >= Kind::begin_aside && each.kind != Kind::back;
      return aside && each.channel == act.channel && each.of == act.of;
    });
    return true;
  }
  return false;
}

/// Changes two acts of different channels. False if there are none.
bool turn_round(std::vector<Act>& acts, std::size_t from) {
  for (std::size_t i = 0; i + 1 < acts.size(); ++i) {
    const std::size_t at = (from + i) % (acts.size() - 1);
    if (acts[at].channel == acts[at + 1].channel) continue;
    std::swap(acts[at], acts[at + 1]);
    return true;
  }
  return false;
}

/// What is dropped may fail, which would end the job.
InterleavedProgram without_drops(InterleavedProgram program) {
  for (auto& threads : program.acts)
    for (auto& acts : threads)
      for (Act& act : acts)
        if (act.kind == Kind::drop_aside) act.kind = Kind::wait_aside;
  return program;
}

WrongProgram wrong(const InterleavedProgram& right, std::uint64_t seed) {
  WrongProgram result{static_cast<int>(seed / 3 % right.acts.size()), right, ""};
  std::vector<Act>& acts = result.program.acts[static_cast<std::size_t>(result.rank)].front();
  if (seed % 3 == 0 && leave_out(acts, seed % acts.size())) {
    result.what = " leaves out a call";
  } else if (seed % 3 == 1 && turn_round(acts, seed % acts.size())) {
    result.what = " has two calls in another order";
  } else {
    result.program.channels[seed % result.program.channels.size()].single = true;
    result.what = " has numbers of half the size";
  }
  result.what = concat("rank ", result.rank, result.what);
  return result;
}

/// Hears, by a communicator of its own, when the others have come to their ends. The first bad one, or a
/// standstill, ends this worker's waits.
class Others final : public BackgroundTask {
 public:
  Others(Communicator& apart, NcclStandIn& stand_in)
      : stand_in_(stand_in), round_(apart.reserve(others(), others())) {
    std::vector<Transfer> receives;
    for (const int rank : others()) receives.push_back({rank, ends_.emplace_back(at::full({1}, 0.))});
    come_ = some(false).post("ends", {}, std::move(receives), Counted::nothing);
  }

  /// To all: this worker has come to its end.
  void tell(bool well) {
    std::vector<Transfer> sends;
    for (const int rank : others()) sends.push_back({rank, at::full({1}, well ? 1. : 2.)});
    told_ = some(true).post("ends", std::move(sends), {}, Counted::nothing);
  }
  bool all_have_ended() {
    const std::lock_guard lock(mutex_);
    return come_->done() && told_->done();
  }

 private:
  Reservation some(bool sends) const {
    return round_.some(std::vector<bool>(ends_.size(), sends), std::vector<bool>(ends_.size(), !sends));
  }
  bool progress() override {
    const std::lock_guard lock(mutex_);
    const bool all = come_->done();
    const bool bad =
        std::any_of(ends_.begin(), ends_.end(), [](const at::Tensor& end) { return end.item<double>() > 1; });
    const auto now = std::chrono::steady_clock::now();
    if (const std::uint64_t moved = movements(); std::exchange(moved_, moved) != moved) moved_at_ = now;
    const bool still = now - moved_at_ > kStill;
    if (!bad && !still) return all;
    stand_in_.abandon(true);
    std::string board;
    for (const WorkerStatus& each : StatusBoard::read())
      if (each.waiting > 0) board += "\n" + to_string(each);
    throw_error(bad ? "told by another rank" : "nobody goes on:" + board);
  }
  const std::string& operation() const override {
    static const std::string text = "the others' ends";
    return text;
  }
  std::vector<int> waits_for() const override { return {}; }

  NcclStandIn& stand_in_;
  std::mutex mutex_;
  std::vector<at::Tensor> ends_;  // by other: 1 well, 2 not
  const Reservation round_;
  std::unique_ptr<Requests> come_, told_;
  std::uint64_t moved_ = movements();
  std::chrono::steady_clock::time_point moved_at_ = std::chrono::steady_clock::now();
};

class WrongOrdersOnNccl : public OnNccl {
 protected:
  using Results = std::vector<std::vector<at::Tensor>>;

  static Results results_of(const Channels& channels) {
    Results all;
    for (const auto& channel : channels) all.push_back(channel->results());
    return all;
  }

  /// Carries out what may come to no end. What it leaves behind meets no other program. What went wrong here.
  std::string run_apart(const InterleavedProgram& program, Results& results) {
    Communicator::world().set_device_transport(nullptr);
    std::unique_ptr<Communicator> apart =
        set_world_communicator(std::make_unique<Communicator>(std::make_unique<MpiTransport>()));
    set({.compare = true});
    auto rest = std::make_shared<Others>(*apart, in_);
    run_in_background(rest);
    Channels channels;  // hold what was started, and so what goes wrong in it
    std::string text;
    try {
      run_in_turns(program, pretend_device(), true, channels);
      results = results_of(channels);
    } catch (const std::exception& error) {
      text = error.what();
      in_.abandon(true);
    }
    rest->tell(text.empty());
    while (!rest->all_have_ended()) std::this_thread::yield();
    in_.abandon(true);
    abandon_background(0, kChannels);
    const std::string others = failure_of(*rest) + unreported_failures();
    if (text.empty()) text = others;
    Communicator::world().set_device_transport(nullptr);
    set_world_communicator(std::move(apart));
    finish_pretend_work();
    in_.abandon(false);
    return text;
  }

 private:
  /// Also where the background is about to see it.
  static std::string failure_of(BackgroundTask& task) {
    try {
      task.wait();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  static std::string unreported_failures() {
    std::string texts;
    for (bool more = true; std::exchange(more, false);) {
      try {
        throw_unreported_failure();
      } catch (const std::exception& error) {
        texts += error.what();
        more = true;
      }
    }
    return texts;
  }
};

TEST_F(WrongOrdersOnNccl, AreFoundAndNamed) {
  if (Runtime::size() < 2) return;
  int found = 0, still = 0, harmless = 0;
  for_each_seed(9, [&](std::uint64_t seed) {
    const InterleavedProgram right = without_drops(interleaved_program(seed, Runtime::size(), Turns::alike));
    const WrongProgram other = wrong(right, seed);
    SCOPED_TRACE(other.what + "; " + lateness_text());
    Channels here;
    run_in_turns(right, at::kCPU, true, here);
    const Results expected = results_of(here);
    Results results;
    const std::string mine = run_apart(Runtime::rank() == other.rank ? other.program : right, results);
    const std::vector<std::string> texts = all_texts(mine);
    std::string all;
    for (const std::string& each : texts) all += each;
    if (std::getenv("RIESZ_DRAWS") != nullptr && Runtime::rank() == 0)
      std::printf("%d: %s: %s\n", static_cast<int>(seed), other.what.c_str(), all.c_str());
    if (!all.empty()) {
      EXPECT_THAT(all, AnyOf(HasSubstr("the workers' programs differ: rank "), HasSubstr(", for rank ")));
      ++(all.find("programs differ") != std::string::npos ? found : still);
      return;
    }
    ++harmless;
    for (std::size_t channel = 0; channel < expected.size(); ++channel) {
      for (std::size_t i = 0; i < expected[channel].size(); ++i)
        EXPECT_SAME_BITS(results[channel][i].to(at::kDouble), expected[channel][i]);
    }
  });
  if (std::getenv("RIESZ_DRAWS") != nullptr && Runtime::rank() == 0)
    std::printf("%d found, %d stand still, %d harmless\n", found, still, harmless);
  EXPECT_TRUE(std::getenv("RIESZ_SEED") != nullptr || found > 0);
}

}  // namespace
}  // namespace riesz::testing
