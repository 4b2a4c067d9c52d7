// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What experts cost, in fp32.
//   mpirun -n 2 experts step [--width 256] [--batch 8]
// One training step of a Mixtral whose 8 experts lie over all workers; a token goes to 2. Beside it, in turn,
// a step of a data-parallel Llama whose MLP does as much for a token. Prints "tokens/s N" of the median step
// of the slowest worker, and the ratio to the dense model's. Then the rows of the busiest worker over the
// mean. All workers wait for the busiest, so this is what an uneven routing costs the experts.
//   mpirun -n 2 experts dispatch [--rows 4096] [--width 512]
// Sends ROWS rows of each worker to their experts and back, as many to each expert. Beside it, in turn, a
// bare loop packs the same rows and exchanges them by the same transport. The routing is made beforehand: the
// exchange of counts, the plan, the sort and the gate values are not in the time. Prints "dispatches/s N",
// and Riesz's time over the loop's, median and spread.
//   mpirun -n 2 experts plan
// The time to plan a routing whose counts are known, and the time to sort the rows of one.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/llama.h"
#include "riesz/models/mixtral.h"
#include "riesz/nn/experts/dispatch.h"
#include "riesz/nn/experts/top_k_gate.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/fibre.h"
#include "riesz/zero/zero.h"

namespace riesz {
namespace {

struct Options {
  std::string what = "step";
  int warm = 20;
  double balance = 0.1;
  int pairs = 15;
  std::int64_t rows = 4096;
  std::int64_t width = 256, layers = 4, batch = 8, tokens = 128;
};

constexpr std::int64_t kExperts = 8, kChoices = 2, kWords = 256;

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double largest(double number) {
  double most = number;
  for (const at::Tensor& each :
       collect("measured", Partition::world(), at::scalar_tensor(number, at::kDouble)))
    most = std::max(most, each.item<double>());
  return most;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Sizes that both have; each expert is as wide as the stream times two.
template <typename Config>
Config sized(const Options& options, std::int64_t hidden) {
  Config config;
  config.layers = options.layers, config.heads = 4, config.key_value_heads = 2, config.width = options.width;
  config.hidden = hidden, config.vocabulary = kWords, config.context = options.tokens, config.tied = false;
  return config;
}

void find_gates(const Module& module, std::vector<const TopKGate*>& gates) {
  if (const auto* gate = dynamic_cast<const TopKGate*>(&module)) gates.push_back(gate);
  for (const Module* part : module.parts()) find_gates(*part, gates);
}

/// The rows of the busiest worker over the mean of all, the mean over the layers of experts.
double unevenness(const Module& model, int step) {
  std::vector<const TopKGate*> gates;
  find_gates(model, gates);
  double sum = 0;
  for (const TopKGate* gate : gates) {
    const at::Tensor by_worker = gate->statistics_of(step)->load.view({Runtime::size(), -1}).sum(1);
    sum += by_worker.max().item<double>() * Runtime::size();
  }
  return gates.empty() ? 1 : sum / static_cast<double>(gates.size());
}

/// A model in training: one batch again and again.
template <typename Model, typename Config>
class Training {
 public:
  Training(const Options& options, const Layout& layout, const Config& config) : model_(layout, config) {
    model_.initialise(1, at::kFloat);
    zero_.emplace(model_.parameters(), ZeroOptions{.stage = 0, .axes = {layout.mesh.axes().front().name}});
    optimizer_.emplace(zero_->store());
    const at::Tensor ids = at::randint(kWords, {options.batch, options.tokens}, at::kLong);
    x_ = distribute(model_.tokens().with_shape(ids.sizes().vec()), ids);
    targets_ = distribute(model_.targets().with_shape(ids.sizes().vec()), ids);
  }

  /// Seconds of the slowest worker.
  double step() {
    largest(0);  // all begin at one time
    return largest(seconds_of([&] {
      const ContextScope scope({.training = true, .seed = 1, .step = steps_++});
      const Chain chain;
      const Predictions given = model_(*x_);
      const Vector loss = cross_entropy(given.logits, *targets_).mean();
      backward(given.loss ? loss + *given.loss : loss);
      optimizer_->step();
      optimizer_->zero_gradients();
    }));
  }

  double last_unevenness() const { return unevenness(model_, steps_ - 1); }

 private:
  Model model_;
  std::optional<Zero> zero_;
  std::optional<AdamW> optimizer_;
  std::optional<Vector> x_, targets_;
  int steps_ = 0;
};

void step(const Options& options) {
  const std::int64_t inner = 2 * options.width;
  const Partition world = Partition::world();
  Training<models::Llama, models::LlamaConfig> dense(options,
                                                     spaces::one_d(world.grid({{"dp", world.size()}})),
                                                     sized<models::LlamaConfig>(options, kChoices * inner));
  auto config = sized<models::MixtralConfig>(options, inner);
  config.experts = kExperts, config.experts_per_token = kChoices, config.balanced = true;
  config.balance_weight = options.balance;
  const Partition mesh = world.grid({{"ep", world.size()}, {"dp", 1}});
  Training<models::Mixtral, models::MixtralConfig> experts(
      options, spaces::with_experts(spaces::one_d(mesh), "dp"), config);
  std::vector<double> seconds, ratios, uneven;
  for (int pair = -options.warm; pair < options.pairs; ++pair) {
    const bool first = pair % 2 == 0;
    double of_experts = first ? experts.step() : 0;
    const double of_dense = dense.step();
    if (!first) of_experts = experts.step();
    if (pair < 0) continue;
    seconds.push_back(of_experts), ratios.push_back(of_dense / of_experts);
    uneven.push_back(experts.last_unevenness());
  }
  std::sort(ratios.begin(), ratios.end());
  if (Runtime::rank() != 0) return;
  const auto quarter = ratios.size() / 4;
  std::printf("tokens/s %.1f\n", static_cast<double>(options.batch * options.tokens) / median(seconds));
  std::printf("%.3f of the dense model's (middle half %.3f to %.3f)\n", median(ratios), ratios[quarter],
              ratios[ratios.size() - 1 - quarter]);
  std::printf("rows of the busiest worker %.3f of the mean\n", median(uneven));
}

/// Token t's choices are t and t + half of the experts: as many rows for each expert.
Choices even_choices(std::int64_t tokens) {
  Choices choices{{}, kChoices};
  for (std::int64_t token = 0; token < tokens; ++token)
    for (std::int64_t j = 0; j < kChoices; ++j)
      choices.experts.push_back((token + j * kExperts / kChoices) % kExperts);
  return choices;
}

RowCounts even_counts(const Choices& choices) {
  return RowCounts(static_cast<std::size_t>(Runtime::size()), choices.counts(kExperts));
}

/// A dispatch of even choices and its combine, written out: rows sorted by expert, in blocks of equal sizes.
class Loop {
 public:
  Loop(const Choices& choices, std::int64_t width)
      : width_(width),
        workers_(Runtime::size()),
        fibre_(Fibre::through_here("loop", Partition::world(), {"world"})),
        operation_(fibre_.operation("loop", {width})),
        block_(static_cast<std::int64_t>(choices.experts.size()) / kExperts),
        own_(kExperts / workers_) {
    for (std::int64_t expert = 0; expert < kExperts; ++expert)
      for (std::size_t i = 0; i < choices.experts.size(); ++i)
        if (choices.experts[i] == expert) tokens_.push_back(static_cast<std::int64_t>(i) / kChoices);
  }

  /// By expert of this worker, in each by worker.
  at::Tensor dispatch(const at::Tensor& x) const {
    const at::Tensor y = at::empty({own_ * workers_ * block_, width_}, x.options());
    std::vector<at::Tensor> sent, received;
    for (int worker = 0; worker < workers_; ++worker) {
      const bool here = worker == Runtime::rank();
      sent.push_back(at::empty({here ? 0 : own_ * block_, width_}, x.options()));
      received.push_back(at::empty_like(sent.back()));
      for (std::int64_t i = 0; i < own_ * block_; ++i) {
        const std::int64_t token = tokens_[static_cast<std::size_t>(worker * own_ * block_ + i)];
        float* to = here ? row(y, in_y(worker, i)) : row(sent.back(), i);
        copy_rows(row(x, token), to, 1);
      }
    }
    fibre_.exchange(operation_, sent, received);
    each_block_of_others([&](int worker, std::int64_t expert) {
      copy_rows(row(received[static_cast<std::size_t>(worker)], expert * block_),
                row(y, in_y(worker, expert * block_)), block_);
    });
    return y;
  }

  /// x̄, by token: the sum of its rows.
  at::Tensor combine(const at::Tensor& y) const {
    std::vector<at::Tensor> sent, received;
    for (int worker = 0; worker < workers_; ++worker) {
      sent.push_back(at::empty({worker == Runtime::rank() ? 0 : own_ * block_, width_}, y.options()));
      received.push_back(at::empty_like(sent.back()));
    }
    each_block_of_others([&](int worker, std::int64_t expert) {
      copy_rows(row(y, in_y(worker, expert * block_)),
                row(sent[static_cast<std::size_t>(worker)], expert * block_), block_);
    });
    fibre_.exchange(operation_, sent, received);
    const at::Tensor x =
        at::empty({static_cast<std::int64_t>(tokens_.size()) / kChoices, width_}, y.options());
    std::vector<char> begun(static_cast<std::size_t>(x.size(0)), 0);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const auto worker = static_cast<int>(static_cast<std::int64_t>(i) / (own_ * block_));
      const std::int64_t at = static_cast<std::int64_t>(i) - worker * own_ * block_;
      const float* from = worker == Runtime::rank() ? row(y, in_y(worker, at))
                                                    : row(received[static_cast<std::size_t>(worker)], at);
      float* to = row(x, tokens_[i]);
      if (begun[static_cast<std::size_t>(tokens_[i])]++ == 0)
        copy_rows(from, to, 1);
      else
        for (std::int64_t c = 0; c < width_; ++c) to[c] += from[c];
    }
    return x;
  }

 private:
  float* row(const at::Tensor& of, std::int64_t number) const {
    return of.mutable_data_ptr<float>() + number * width_;
  }
  void copy_rows(const float* from, float* to, std::int64_t rows) const {
    std::memcpy(to, from, static_cast<std::size_t>(rows * width_) * sizeof(float));
  }
  /// Where a worker's i-th row for this one lies.
  std::int64_t in_y(int worker, std::int64_t i) const {
    return (i / block_ * workers_ + worker) * block_ + i % block_;
  }
  template <typename Function>
  void each_block_of_others(const Function& f) const {
    for (int worker = 0; worker < workers_; ++worker)
      for (std::int64_t expert = 0; worker != Runtime::rank() && expert < own_; ++expert) f(worker, expert);
  }

  std::int64_t width_;
  int workers_;
  Fibre fibre_;
  Operation operation_;
  std::int64_t block_, own_;  // rows of a worker for an expert; experts of a worker
  std::vector<std::int64_t> tokens_;
};

void dispatches(const Options& options) {
  const at::NoGradGuard no_gradient;
  const int p = Runtime::size();
  RIESZ_CHECK(kExperts % p == 0 && options.rows % (kExperts * kChoices) == 0, "experts dispatch: ", p,
              " workers and ", options.rows, " rows; ", kExperts,
              " experts have equal parts on 1, 2, 4 or 8, of a multiple of ", kExperts * kChoices, " rows");
  const std::int64_t tokens = options.rows / kChoices;
  const Space X = Space(Partition::world(), {p * tokens, options.width}).sharded(0, "world");
  const Choices choices = even_choices(tokens);
  const Dispatch d = dispatch(X, "world", {kExperts, 4, p}, choices, even_counts(choices));
  const Operator combine = adjoint(d.tokens);
  const Loop loop(choices, options.width);
  const Vector x(X, at::rand(X.local_shape()));
  const auto riesz = [&] { return combine(Vector(combine.domain(), d.tokens(x).local())).local(); };
  const auto bare = [&] { return loop.combine(loop.dispatch(x.local())); };
  RIESZ_CHECK(at::equal(d.tokens(x).local(), loop.dispatch(x.local())) && at::equal(riesz(), bare()),
              "experts dispatch: the loop and Riesz differ");
  const auto timed = [&](const std::function<at::Tensor()>& f) {
    largest(0);  // all begin at one time
    constexpr int kTimes = 20;
    return largest(seconds_of([&] {
             for (int i = 0; i < kTimes; ++i) f();
           })) /
           kTimes;
  };
  std::vector<double> seconds, ratios;
  for (int pair = -1; pair < options.pairs; ++pair) {
    const bool first = pair % 2 == 0;
    const double before = first ? timed(riesz) : timed(bare), after = first ? timed(bare) : timed(riesz);
    if (pair < 0) continue;
    seconds.push_back(first ? before : after);
    ratios.push_back(first ? before / after : after / before);
  }
  std::sort(ratios.begin(), ratios.end());
  if (Runtime::rank() != 0) return;
  std::printf("dispatches/s %.1f\n", 1 / median(seconds));
  std::printf("%.3f ms, %.3f of the loop's (%.3f to %.3f)\n", 1e3 * median(seconds), median(ratios),
              ratios.front(), ratios.back());
}

double microseconds(const std::function<void()>& f) {
  constexpr int kTimes = 200;
  std::vector<double> times;
  for (int i = 0; i < 9; ++i)
    times.push_back(1e6 / kTimes * seconds_of([&] {
                      for (int time = 0; time < kTimes; ++time) f();
                    }));
  return median(times);
}

/// The plan alone grows with experts and workers, the order of the rows with their number.
void plans(const Options& options) {
  const int p = Runtime::size();
  const ExpertParts parts(kExperts, 4, p);
  for (const std::int64_t rows : {std::int64_t{64}, std::int64_t{512}, options.rows}) {
    const Choices choices = even_choices(rows / kChoices);
    const RowCounts counts = even_counts(choices);
    const Space X = Space(Partition::world(), {p * rows / kChoices, options.width}).sharded(0, "world");
    const Space S = Space(Partition::world(), {p * rows, options.width}).sharded(0, "world");
    const double plan = microseconds([&] { route_known_rows(S, "world", parts.split(), counts); });
    const double whole = microseconds([&] { dispatch(X, "world", parts, choices, counts); });
    if (Runtime::rank() == 0)
      std::printf("%5lld rows: planned in %.1f us, the whole dispatch with its adjoint made in %.1f us\n",
                  static_cast<long long>(rows), plan, whole);
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("What experts cost: a step beside a dense model's, a dispatch beside a loop, a plan");
  app.add_option("what", options.what)->check(CLI::IsMember({"step", "dispatch", "plan"}));
  app.add_option("--warm", options.warm, "step: before those that count");
  app.add_option("--balance", options.balance, "step: the weight of the balance loss");
  app.add_option("--pairs", options.pairs, "dispatch: that count, after one that does not");
  app.add_option("--rows", options.rows, "dispatch: of each worker, two for a token");
  app.add_option("--width", options.width);
  app.add_option("--layers", options.layers);
  app.add_option("--batch", options.batch, "sequences, over all workers");
  app.add_option("--tokens", options.tokens, "of a sequence");
  CLI11_PARSE(app, argc, argv);
  at::manual_seed(1);  // the same tokens on all workers
  if (options.what == "step") step(options);
  if (options.what == "dispatch") dispatches(options);
  if (options.what == "plan") plans(options);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
