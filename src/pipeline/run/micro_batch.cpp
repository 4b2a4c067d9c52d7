// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/micro_batch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/stream.h"
#include "riesz/comm/wait.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/primitives/backward.h"

namespace riesz {
namespace {

/// Stream 0 is the rest of the program's.
int stream_of(std::int64_t number) { return static_cast<int>(1 + number % (kStreams - 1)); }

/// As the module reads it: a leaf where a gradient goes back.
const Vector& arrived(Arrival& arrival) {
  if (!arrival.y) {
    const Vector y = arrival.coming.wait();
    const at::Tensor local = y.local().detach();
    arrival.y.emplace(y.space(), arrival.from ? local.requires_grad_() : local);
  }
  return *arrival.y;
}

}  // namespace

/// Where this micro-batch's thread enters modules of other chunks.
class MicroBatch::Boundary final : public Crossing {
 public:
  explicit Boundary(MicroBatch& program) : program_(program) {}
  void enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
             const std::vector<Space>& targets) override {
    program_.enter(stage, home, arguments, targets);
  }

 private:
  MicroBatch& program_;
};

/// Where the model's own code waits outside of this worker's chunks, others go on: what it waits for may need
/// them.
class MicroBatch::Outside final : public InsteadOfWaiting {
 public:
  explicit Outside(MicroBatch& program) : program_(program) {}
  bool until(const std::function<bool()>& done) override {
    if (program_.in_turn_) return false;
    program_.awaited_by_caller_ = done;
    program_.stop(State::waiting);
    program_.awaited_by_caller_ = nullptr;
    return true;
  }

 private:
  MicroBatch& program_;
};

MicroBatch::MicroBatch(std::int64_t number, const MicroBatchOptions& options,
                       std::function<std::optional<Vector>()> forward)
    : number_(number),
      stream_(stream_of(number)),
      options_(options),
      routine_([this, forward = std::move(forward)] { run(forward); }) {}

bool MicroBatch::ready() {
  if (awaited_by_caller_ && !awaited_by_caller_()) return false;
  return std::all_of(awaited_.begin(), awaited_.end(), [](Pending* each) { return each->arrived(); });
}

void MicroBatch::resume() {
  if (state_ == State::turn) {
    in_turn_ = true;
    ++turns_;
  }
  routine_.resume();
  if (routine_.ended()) {
    state_ = State::ended;
    in_turn_ = false;
  }
}

void MicroBatch::stop(State state) {
  state_ = state;
  if (state == State::outside) in_turn_ = false;
  routine_.pause();
  awaited_.clear();
}

void MicroBatch::await_turn(Pass pass, int chunk) {
  in_turn_ = false;
  pass_ = pass;
  chunk_ = chunk;
  stop(State::turn);
}

bool MicroBatch::stands_before(const Action& action) const {
  const bool forward = action.pass == Pass::forward;
  return state_ == State::turn && action.chunk == chunk_ && forward == (pass_ == Pass::forward);
}

std::string MicroBatch::where() const {
  if (pass_ == Pass::idle || state_ == State::ended) return concat("micro-batch ", number_);
  return concat(pass_ == Pass::forward ? "forward" : "backward", " of micro-batch ", number_, " in chunk ",
                chunk_);
}

void MicroBatch::await_messages() {
  if (!ready()) stop(State::waiting);
  awaited_.clear();
}

void MicroBatch::run(const std::function<std::optional<Vector>()>& forward) {
  const StreamScope in(stream_);
  {
    const Boundary boundary(*this);
    const Outside outside(*this);
    const std::optional<Vector> loss = forward();
    if (loss) {
      loss_.emplace(loss->space(), loss->local().detach());
      if (options_.backward) seed(*loss);
    }
    if (!passages_.empty()) end_passage();
    through_forward_ = true;
  }
  if (!options_.backward) return;
  in_turn_ = false;
  for (std::size_t k = passages_.size(); k-- > 0;) back_through(k);
}

void MicroBatch::enter(int chunk, const Partition& home, const std::vector<Vector*>& arguments,
                       const std::vector<Space>& targets) {
  const bool begins = passages_.empty() || passages_.last().chunk != chunk;
  if (begins) begin_passage(chunk, home);
  Passage& here = passages_.last();
  std::vector<std::pair<Vector*, Arrival*>> brought;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (Arrival* arrival = bring(*arguments[i], targets[i])) brought.emplace_back(arguments[i], arrival);
  }
  for (const auto& [x, arrival] : brought) {
    if (!arrival->y) awaited_.push_back(&arrival->coming);
  }
  if (here.mine && begins)
    await_turn(Pass::forward, chunk);
  else if (here.mine)
    await_messages();
  else
    in_turn_ = false;
  awaited_.clear();
  for (const auto& [x, arrival] : brought) *x = arrived(*arrival);
  riesz::bring(arguments, targets);  // what lies otherwise in its own chunk
}

void MicroBatch::begin_passage(int chunk, const Partition& home) {
  if (!passages_.empty()) end_passage();
  Passage& passage = passages_.add(chunk, home.active());
  if (!options_.backward) return;
  passage.chain = std::make_unique<Chain>(stream_);
  if (options_.weights_apart && passage.mine) passage.weights = std::make_unique<DeferredGradients>();
}

void MicroBatch::end_passage() {
  Passage& passage = passages_.last();
  if (passage.weights) passage.weights->leave();
  if (passage.chain) passage.chain->leave();
  if (!passage.mine) passage.chain.reset();
}

/// x is on its way to where the module reads it; nullptr: it is on its workers, in this chunk.
Arrival* MicroBatch::bring(const Vector& x, const Space& target) {
  Passage& here = passages_.last();
  const std::optional<std::size_t> from = passages_.of(x);
  const bool cut = from && *from + 1 != passages_.size();
  const bool moves = !(x.space().partition() == target.partition());
  if (!cut && !moves) return nullptr;
  if (Arrival* before = here.arrival_of(x)) return before;
  RIESZ_CHECK(cut || !x.local().requires_grad(), "a vector of\n  ", to_string(x.space()),
              "\nthat has a gradient, but was computed in no chunk, is given to chunk ", here.chunk,
              ", on another stage; give it to a module of its own stage first");
  const at::NoGradGuard no_gradient;
  const Operator A = map_to_space(x.space(), target);
  std::optional<std::pair<std::size_t, std::size_t>> departure;
  if (cut) departure.emplace(*from, passages_.depart(*from, x));
  here.arrivals.push_back({A, x, departure, A.start({x.space(), x.local().detach()}), std::nullopt});
  return &here.arrivals.back();
}

void MicroBatch::seed(const Vector& loss) {
  RIESZ_CHECK(loss.space().dims() == 0 && dual(loss.space()) == loss.space(), "the loss of micro-batch ",
              number_, " is a vector of ", to_string(loss.space()),
              ", not a scalar that is Replicated on every axis");
  const std::optional<std::size_t> from = passages_.of(loss);
  if (!from) return;
  Departure& departure = passages_[*from].departures[passages_.depart(*from, loss)];
  departure.seed.emplace(dual(loss.space()), at::ones_like(loss.local().detach()));
}

void MicroBatch::go_back(Passage& passage, const std::vector<Vector>& ys, const std::vector<Vector>& ybars) {
  const Chain::Scope in(*passage.chain);
  try {
    backward(ys, ybars);
  } catch (const c10::Error& error) {
    if (error.msg().find("a second time") == std::string::npos) throw;
    throw_error(concat(
        where(), ": what was computed there has been gone back through already, from another visit of a ",
        "chunk, where it is used between modules; give it to a module as an argument, where a visit begins"));
  }
}

/// One pass of autograd, when all gradients are there.
void MicroBatch::back_through(std::size_t k) {
  Passage& passage = passages_[k];
  if (passage.mine) {
    for (Departure& departure : passage.departures) {
      for (Pending& gradient : departure.gradients) awaited_.push_back(&gradient);
    }
    await_turn(Pass::backward, passage.chunk);
    std::vector<Vector> ys, ybars;
    for (Departure& departure : passage.departures) {
      ys.push_back(departure.x);
      ybars.push_back(departure.gradient());
    }
    passage.departures.clear();
    if (!ys.empty()) go_back(passage, ys, ybars);
    passage.chain.reset();
  }
  send_back(passage);
  if (k > 0) in_turn_ = false;
}

void MicroBatch::send_back(Passage& passage) {
  const at::NoGradGuard no_gradient;
  while (!passage.arrivals.empty()) {
    const Arrival& arrival = passage.arrivals.back();
    if (arrival.from) {
      Pending back = adjoint(arrival.A).start(gradient(*arrival.y));
      Passage& from = passages_[arrival.from->first];
      if (from.mine) from.departures[arrival.from->second].gradients.push_back(std::move(back));
    }
    passage.arrivals.pop_back();
  }
}

void MicroBatch::weights(int chunk) {
  const StreamScope in(stream_);
  for (std::size_t k = 0; k < passages_.size(); ++k) {
    if (passages_[k].chunk != chunk || !passages_[k].weights) continue;
    passages_[k].weights->compute();
    passages_[k].weights.reset();
  }
}

}  // namespace riesz
