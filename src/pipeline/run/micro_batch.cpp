// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/micro_batch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/channel.h"
#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/pipeline/run/thrown_in.h"
#include "riesz/primitives/backward.h"

namespace riesz {
namespace {

/// As the module reads it: a leaf where a gradient goes back.
const Vector& arrived(Arrival& arrival) {
  if (!arrival.y) {
    const Vector y = arrival.coming.wait();
    const at::Tensor local = y.local().detach();
    arrival.y.emplace(y.space(), arrival.from ? local.requires_grad_() : local, arrival.x.is_constant());
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
/// them. In a turn no other does, so this worker gives nothing meanwhile.
class MicroBatch::Outside final : public WaitHandler {
 public:
  explicit Outside(MicroBatch& program) : program_(program) {}
  bool until(const std::string& operation, const std::function<bool()>& done,
             const std::function<std::vector<int>()>& waits_for) override {
    if (program_.in_turn_) {
      wait_in_turn(operation, done, waits_for);
    } else {
      program_.of_model_ = {operation, done, waits_for};
      program_.stop(State::waiting);
      program_.of_model_ = {};
    }
    return true;
  }

 private:
  void wait_in_turn(const std::string& operation, const std::function<bool()>& done,
                    const std::function<std::vector<int>()>& waits_for) {
    Wait wait(operation);
    while (!done()) {
      if (!wait.pause()) continue;
      const std::vector<int> ranks = waits_for();
      RIESZ_CHECK(ranks != std::vector{Runtime::rank()}, "a circle of waiting: ", program_.where(),
                  "\n  waits, in its turn, for ", operation,
                  "\n  -> which this worker is to give, in another turn\n  -> which comes after ",
                  program_.where());
      wait.look(ranks);
    }
  }

  MicroBatch& program_;
};

std::string place_of(const Action& action) {
  return concat(name_of(action.pass), " of micro-batch ", action.micro_batch, " in chunk ", action.chunk,
                " (stage ", action.chunk, ")");
}

MicroBatch::MicroBatch(std::int64_t number, const MicroBatchOptions& options,
                       std::function<std::optional<Vector>()> forward)
    : number_(number),
      channel_(options.channels->of(number)),
      channel_of_regions_(options.channels->of_regions(number)),
      options_(options),
      routine_([this, forward = std::move(forward)] { run(forward); }) {}

bool MicroBatch::ready() {
  if (of_model_.done && !of_model_.done()) return false;
  return std::all_of(awaited_.begin(), awaited_.end(),
                     [](const Awaited& each) { return each.coming->arrived(); });
}

std::string MicroBatch::awaits() const {
  if (of_model_.done) return of_model_.operation;
  for (const Awaited& each : awaited_) {
    if (each.coming->arrived()) continue;
    return concat(pass_ == Pass::forward ? "" : "the gradient of ", "a vector of ",
                  at::IntArrayRef(each.x->space().shape()),
                  each.chunk ? concat(" from chunk ", *each.chunk, " (stage ", *each.chunk, ")") : "");
  }
  return "";
}

void MicroBatch::resume() {
  if (state_ == State::turn) {
    in_turn_ = true;
    ++turns_;
  }
  try {
    routine_.resume();
  } catch (...) {
    throw_on(where());
  }
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
  return place_of({.pass = pass_, .chunk = chunk_, .micro_batch = static_cast<int>(number_)});
}

std::vector<int> MicroBatch::waits_for() const {
  std::vector<int> all = of_model_.waits_for ? of_model_.waits_for() : std::vector<int>{};
  for (const Awaited& each : awaited_) {
    for (const int rank : each.coming->waits_for()) {
      if (std::find(all.begin(), all.end(), rank) == all.end()) all.push_back(rank);
    }
  }
  return all;
}

void MicroBatch::await_messages() {
  if (!ready()) stop(State::waiting);
  awaited_.clear();
}

void MicroBatch::run(const std::function<std::optional<Vector>()>& forward) {
  const ChannelScope in(channel_);
  try {
    const Boundary boundary(*this);
    const Outside outside(*this);
    const std::optional<Vector> loss = forward();
    if (loss) {
      loss_.emplace(loss->space(), loss->local().detach());
      if (options_.backward) seed(*loss);
    }
    if (!passages_.empty()) end_passage();
    through_forward_ = true;
  } catch (...) {
    leave_scopes();
    throw;
  }
  if (!options_.backward) return;
  in_turn_ = false;
  for (std::size_t k = passages_.size(); k-- > 0;) back_through(k);
  chains_pass_.reset();
}

/// Which are this thread's: those of the passage that an exception has left.
void MicroBatch::leave_scopes() {
  if (passages_.empty()) return;
  Passage& last = passages_.last();
  last.regions.reset();
  last.weights.reset();
  last.chain.reset();
}

void MicroBatch::enter(int chunk, const Partition& home, const std::vector<Vector*>& arguments,
                       const std::vector<Space>& targets) {
  const bool begins = passages_.empty() || passages_.last().chunk != chunk;
  const std::string* region = detail::InRegion::name();
  RIESZ_CHECK(!begins || region == nullptr, "recompute of ", *region, " crosses stages: it comes to chunk ",
              chunk, " of micro-batch ", number_, "; on a pipeline a region lies inside one stage, so run ",
              "its parts again one by one, such as by a RecomputePolicy");
  for (const Vector* x : arguments) check_not_mixed(*x);
  if (begins) begin_passage(chunk, home);
  Passage& here = passages_.last();
  std::vector<std::pair<Vector*, Arrival*>> brought;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (Arrival* arrival = bring(*arguments[i], targets[i])) brought.emplace_back(arguments[i], arrival);
  }
  for (const auto& [x, arrival] : brought) {
    if (arrival->y) continue;
    awaited_.push_back({&arrival->coming, &arrival->x, {}});
    if (arrival->from) awaited_.back().chunk = passages_[arrival->from->first].chunk;
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

/// Every worker goes the whole way, so all of them see it, before anything is sent.
void MicroBatch::check_comes_back(int chunk) const {
  if (options_.comes_back || !passages_.visited(chunk)) return;
  const std::shared_ptr<const Origin> origin = LayerScope::current();
  const std::string module = origin ? origin->layer : "";
  const std::string text = concat(module, " is of stage ", chunk, ", to which micro-batch ", number_,
                                  " comes back by it, after stage ", passages_.last().chunk);
  if (options_.stages != nullptr && !module.empty() && !options_.stages->named(module)) {
    throw_error(
        concat(text, "; no stage is named for ", module,
               ", and what no path names is of stage 0: name its stage, or that of a module above it, "
               "in spaces::placed or Stages"));
  }
  throw_error(concat(text, "; a micro-batch that comes back to a chunk is run by the schedule gpipe"));
}

void MicroBatch::begin_passage(int chunk, const Partition& home) {
  check_comes_back(chunk);
  if (!passages_.empty()) end_passage();
  Passage& passage = passages_.add(chunk, home);
  pass_ = Pass::forward;
  chunk_ = chunk;
  if (!options_.backward) return;
  passage.chain = std::make_unique<Chain>(channel_, chains_pass_);
  if (options_.weights_apart && passage.mine) passage.weights = std::make_unique<DeferredGradients>();
  if (!options_.recompute) return;
  const bool ahead = passage.mine && options_.recompute->contains({chunk, number_});
  using Regions = RegionScope::Regions;
  passage.regions = std::make_unique<RegionScope>(ahead ? Regions::ahead : Regions::plain);
}

void MicroBatch::end_passage() {
  Passage& passage = passages_.last();
  if (passage.regions) passage.regions->leave();
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

/// Every worker goes through all that lies between modules, so all of them see it, before anything is sent.
void MicroBatch::check_not_mixed(const Vector& x) {
  const std::optional<std::size_t> from = passages_.of(x);
  const std::optional<std::size_t> other = from ? passages_.mixed(*from, x) : std::nullopt;
  RIESZ_CHECK(!other, "micro-batch ", number_, ": a vector of\n  ", to_string(x.space()),
              "\nwas computed between modules, in chunk ", passages_[*from].chunk,
              ", from what was computed in chunk ", passages_[*other].chunk,
              ", of another visit; give that to a module as an argument, where a visit begins");
}

void MicroBatch::seed(const Vector& loss) {
  RIESZ_CHECK(loss.space().dims() == 0 && dual(loss.space()) == loss.space(), "the loss of micro-batch ",
              number_, " is a vector of ", to_string(loss.space()),
              ", not a scalar that is Replicated on every axis");
  check_not_mixed(loss);
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
  pass_ = Pass::backward;
  chunk_ = passage.chunk;
  if (passage.mine) {
    for (Departure& departure : passage.departures) {
      for (Return& back : departure.gradients) awaited_.push_back({&back.coming, &departure.x, back.chunk});
    }
    await_turn(Pass::backward, passage.chunk);
    std::vector<Vector> ys, ybars;
    for (Departure& departure : passage.departures) {
      ys.push_back(departure.x);
      ybars.push_back(departure.gradient());
    }
    passage.departures.clear();
    if (!ys.empty()) go_back(passage, ys, ybars);
    passage.regions.reset();
    passage.chain.reset();
  }
  send_back(passage);
  if (k > 0) in_turn_ = false;
}

void MicroBatch::send_back(Passage& passage) {
  const at::NoGradGuard no_gradient;
  const LayerScope counted_as("", Phase::backward);
  while (!passage.arrivals.empty()) {
    const Arrival& arrival = passage.arrivals.back();
    if (arrival.from) {
      Pending back = adjoint(arrival.A).start(gradient(*arrival.y));
      Passage& from = passages_[arrival.from->first];
      if (from.mine)
        from.departures[arrival.from->second].gradients.push_back({std::move(back), passage.chunk});
    }
    passage.arrivals.pop_back();
  }
}

void MicroBatch::weights(int chunk) {
  const ChannelScope in(channel_);
  for (std::size_t k = 0; k < passages_.size(); ++k) {
    if (passages_[k].chunk != chunk || !passages_[k].weights) continue;
    passages_[k].weights->compute();
    passages_[k].weights.reset();
  }
}

void MicroBatch::run_again(int chunk) {
  const ChannelScope in(channel_of_regions_);
  for (std::size_t k = 0; k < passages_.size(); ++k) {
    if (passages_[k].chunk == chunk && passages_[k].regions) passages_[k].regions->run_again();
  }
}

}  // namespace riesz
