// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/simulation.h"

#include <exception>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/router.h"
#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

bool simulating = false;
std::uint64_t simulations = 0;

class Arrived final : public Requests {
 public:
  explicit Arrived(std::size_t round) : round_(round) {}
  bool done() override {
    Recorder* recorder = Recorder::current();
    if (recorder != nullptr && !std::exchange(seen_, true)) recorder->waited(round_);
    return true;
  }
  std::vector<int> unfinished() const override { return {}; }

 private:
  std::size_t round_;
  bool seen_ = false;
};

/// A transport without peers.
class NullTransport final : public Transport {
 public:
  NullTransport(int workers, int per_host) {
    for (int rank = 0; per_host > 0 && per_host < workers && rank < workers; ++rank)
      hosts_.push_back(rank / per_host * per_host);
  }

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    Recorder* recorder = Recorder::current();
    const std::size_t round = recorder != nullptr ? recorder->posted(sends, receives) : 0;
    for (const Message& message : receives) {
      const TensorSpan& span = message.span;
      if (!has_values()) continue;
      span.data.detach().view({-1}).narrow(0, span.begin, span.count).zero_();
    }
    return std::make_unique<Arrived>(round);
  }
  const std::vector<int>& hosts() const override { return hosts_; }

 private:
  std::vector<int> hosts_;
};

std::string prefix(int rank, int size, const char* simulated) {
  return concat("[rank ", rank, " of ", size, simulated, "] ");
}

}  // namespace

Simulation::Simulation(int rank, int size, Recorder* recorder)
    : rank_(Runtime::rank()), size_(Runtime::size()), checks_(consistency_checks()) {
  RIESZ_CHECK(Runtime::active(), "Simulation: no Runtime is alive; make one in main");
  RIESZ_CHECK(0 <= rank && rank < size, "Simulation: rank ", rank, " of ", size,
              " workers; needs 0 <= rank < size");
  RIESZ_CHECK(!simulating, "Simulation: one is under way already");
  finish_background();
  simulating = true;
  ++simulations;
  set_consistency_checks(false);  // the peers say nothing
  communicator_ = set_world_communicator(std::make_unique<Communicator>(
      std::make_unique<NullTransport>(size, TransportSettings::of_environment().ranks_per_host)));
  Runtime::set_rank(rank, size);
  set_error_prefix(prefix(rank, size, ", simulated"));
  Recorder::set_current(recorder);
}

bool Simulation::running() { return simulating; }

std::uint64_t Simulation::job() { return simulating ? simulations : 0; }

Simulation::~Simulation() {
  try {
    finish_background();
  } catch (...) {
    end_job(std::current_exception());
  }
  Recorder::set_current(nullptr);
  set_world_communicator(std::move(communicator_));
  set_consistency_checks(checks_);
  Runtime::set_rank(rank_, size_);
  set_error_prefix(prefix(rank_, size_, ""));
  simulating = false;
}

}  // namespace riesz
