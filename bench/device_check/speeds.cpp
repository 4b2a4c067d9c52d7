// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/late_number.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/range.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/all_ranks.h"
#include "rows.h"

namespace riesz::bench {
namespace {

using Clock = std::chrono::steady_clock;

double slowest(double seconds) {
  testing::AllRanks ranks;
  double most = seconds;
  for (const std::string& each : ranks.gather(std::to_string(seconds)))
    most = std::max(most, std::stod(each));
  return most;
}

double elapsed(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Shape {
  const char* name;
  std::int64_t layers, heads, width, vocabulary;
};
/// GPT-2's published sizes, with a vocabulary that 64 divides; and one for tests of this program.
constexpr Shape kShapes[] = {{"124M", 12, 12, 768, 50304},
                             {"350M", 24, 16, 1024, 50304},
                             {"1.5B", 48, 25, 1600, 50304},
                             {"tiny", 2, 2, 32, 96}};

const Shape& shape_named(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kShapes), std::end(kShapes),
                                         [&](const Shape& each) { return name == each.name; });
  RIESZ_CHECK(found != std::end(kShapes), "there is no GPT-2 of size ", name,
              "; there are 124M, 350M, 1.5B and tiny");
  return *found;
}

/// A GPT-2 that trains, data parallel over all ranks, each step on the same tokens.
class Training {
 public:
  Training(at::Device device, at::ScalarType type, const CheckOptions& options, const AdamWOptions& rule = {},
           double noise = 0)
      : device_(device),
        noise_(noise),
        config_(config(options)),
        mesh_(Partition::world().grid({{"dp", Runtime::size()}, {"tp", 1}})),
        model_(spaces::named("1d", "none", mesh_), config_) {
    model_.initialise(1, type, device);
    optimizer_.emplace(whole(model_.parameters()), rule);
    at::manual_seed(1);
    const std::vector<std::int64_t> sizes{options.batch * Runtime::size(), options.context};
    tokens_ = sizes[0] * sizes[1];
    const at::Tensor drawn = at::randint(config_.vocabulary, sizes, at::kLong);
    const at::Tensor targets = drawn.roll({1}, {1});
    ids_ = there(distribute(model_.tokens().with_shape(sizes), drawn));
    targets_ = there(distribute(model_.targets().with_shape(sizes), targets));
  }

  void step() {
    const Range step(RangeKind::step, concat("step ", ++number_));
    const ContextScope scope({.training = true, .seed = 1, .step = number_});
    const Chain chain;
    const Vector mean = [&] {
      const Range forward(RangeKind::phase, "forward");
      return cross_entropy(model_(*ids_), *targets_).mean();
    }();
    backward(mean);
    if (noise_ > 0) add_noise();
    const Range update(RangeKind::phase, "optimizer");
    optimizer_->step();
    optimizer_->zero_gradients();
    loss_ = LateNumber(mean.local());
  }

  double loss() const { return loss_; }
  double tokens() const { return static_cast<double>(tokens_); }

 private:
  static models::MinGptConfig config(const CheckOptions& options) {
    const Shape& shape = shape_named(options.size);
    return {.layers = shape.layers,
            .heads = shape.heads,
            .width = shape.width,
            .vocabulary = shape.vocabulary,
            .context = options.context,
            .dropout = 0};
  }

  /// To each gradient, in parts of its largest element.
  void add_noise() {
    const at::NoGradGuard no_gradient;
    for (const Parameter& each : model_.parameters()) {
      const at::Tensor gradient = each.gradient().local();
      gradient.add_(at::randn(gradient.sizes(), at::kFloat).to(device_).mul(gradient.abs().max()), noise_);
    }
  }

  Vector there(const Vector& x) const { return {x.space(), x.local().to(device_)}; }

  at::Device device_;
  double noise_;
  models::MinGptConfig config_;
  Partition mesh_;
  models::MinGpt model_;
  std::optional<AdamW> optimizer_;
  std::optional<Vector> ids_, targets_;
  LateNumber loss_ = 0;
  std::int64_t number_ = 0, tokens_ = 0;
};

}  // namespace

void print_row(const std::string& name, double value, const std::string& unit, const std::string& target,
               const std::string& verdict) {
  if (Runtime::rank() != 0) return;
  std::printf("row\t%s\t%.4g\t%s\t%s\t%s\n", name.c_str(), value, unit.c_str(), target.c_str(),
              verdict.c_str());
  std::fflush(stdout);
}

std::string said_by_a_rank(const std::string& mine) {
  testing::AllRanks ranks;
  int rank = 0;
  for (const std::string& each : ranks.gather(mine)) {
    if (!each.empty()) return concat("rank ", rank, ": ", each);
    ++rank;
  }
  return "";
}

void finish(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

double seconds_of(at::Device device, const std::function<void()>& call) {
  constexpr int kRuns = 5, kCalls = 10;
  const at::NoGradGuard no_gradient;
  std::vector<double> seconds;
  for (int run = -1; run < kRuns; ++run) {
    finish(device);
    slowest(0);  // all begin at once
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    finish(device);
    const double took = slowest(elapsed(begin)) / kCalls;
    if (run >= 0) seconds.push_back(took);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

bool check_all_reduce(at::Device device, const CheckOptions& options) {
  const int p = Runtime::size();
  const Partition all = Partition::world().grid({{"a", p}});
  const auto X = Space(all, {options.elements}).partial("a"), Y = Space(all, {options.elements}).copied("a");
  const Operator sum = between(X, Y);
  // Whole numbers, whose sum is exact; each element and each rank counts otherwise.
  const at::Tensor i = at::arange(options.elements, at::kLong).remainder(1000).to(device, at::kFloat);
  const Vector x(X, i.mul(Runtime::rank() + 1).add(Runtime::rank()));
  const at::Tensor expected = i.mul(p * (p + 1) / 2).add(p * (p - 1) / 2);
  const bool right = slowest(at::equal(sum(x).local(), expected) ? 0 : 1) == 0;  // on all ranks
  const double bytes = 4 * static_cast<double>(options.elements);
  const double rate = bytes / seconds_of(device, [&] { sum(x); });
  print_row(concat("AllReduce of ", bytes / 1e6, " MB, ", p, " ranks"), rate * 2 * (p - 1) / p / 1e9,
            "GB/s (busbw)", "", right ? "measured" : "WRONG SUM");
  return right;
}

bool check_gpt(at::Device device, const CheckOptions& options) {
  Training training(device, at::kBFloat16, options);
  std::vector<double> seconds;
  for (int i = -3; i < options.steps; ++i) {
    const auto begin = Clock::now();
    training.step();
    finish(device);
    const double took = slowest(elapsed(begin));
    if (i >= 0) seconds.push_back(took);
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  const double rate = training.tokens() / *middle;
  const bool finite = std::isfinite(training.loss());
  const std::string target = options.target > 0 ? concat(options.target) : std::string();
  const std::string verdict = !finite                                       ? "THE LOSS IS NOT FINITE"
                              : options.target > 0 && rate < options.target ? "below"
                                                                            : "ok";
  print_row(concat("GPT-2 ", options.size, ", bf16"), rate, "tokens/s", target, verdict);
  if (options.peer > 0)
    print_row(concat("GPT-2 ", options.size, " / compiled PyTorch"), rate / options.peer, "x", "1.15",
              rate < 1.15 * options.peer ? "below" : "ok");
  return finite;
}

bool check_losses(at::Device device, const CheckOptions& options) {
  constexpr int kSteps = 20;
  constexpr double kBound = 1e-4;
  // A smaller epsilon would make the rounding of a gradient that is zero a step of its own.
  const AdamWOptions rule{.epsilon = 1e-5};
  const at::ScalarType type = options.precise ? at::kDouble : at::kFloat;
  Training here(at::kCPU, at::kFloat, options, rule), there(device, type, options, rule, options.noise);
  double most = 0;
  for (int i = 0; i < kSteps; ++i) {
    here.step();
    there.step();
    const double apart = std::abs(here.loss() - there.loss());
    most = std::isfinite(apart) ? std::max(most, apart) : HUGE_VAL;
  }
  print_row(concat("losses of ", kSteps, " steps, ", Runtime::size(), " ranks"), most, "from the CPU's",
            concat(kBound), most <= kBound ? "ok" : "DIFFERS");
  return most <= kBound;
}

}  // namespace riesz::bench
