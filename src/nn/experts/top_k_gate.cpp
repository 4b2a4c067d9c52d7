// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/top_k_gate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/special_entr.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/nn/experts/capacity.h"
#include "riesz/nn/experts/expert_capacity.h"
#include "riesz/nn/experts/token_runs.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/partition/agreement/alike.h"

namespace riesz {
namespace {

using Balance = GateOptions::Balance;
using Drop = GateOptions::Drop;

void check_options(const std::string& path, std::int64_t experts, const GateOptions& o) {
  RIESZ_CHECK(experts >= 1 && o.k >= 1 && o.k <= experts, "gate ", path, ": k = ", o.k, " of ", experts,
              " experts; k is from 1 to their number");
  RIESZ_CHECK(o.drop == Drop::none || (o.capacity_factor > 0 && o.least_capacity >= 1), "gate ", path,
              ": a capacity factor of ", o.capacity_factor, " and a least capacity of ", o.least_capacity,
              "; the factor is above 0, the capacity at least 1");
  RIESZ_CHECK(o.noise >= 0 && o.balance_weight >= 0 && o.z_weight >= 0 && o.bias_rate >= 0, "gate ", path,
              ": noise ", o.noise, ", balance_weight ", o.balance_weight, ", z_weight ", o.z_weight,
              ", bias_rate ", o.bias_rate, "; each is at least 0");
}

/// The numbers of the k greatest of each row, of equal ones the lower number first.
at::Tensor greatest(const at::Tensor& rows, std::int64_t k) {
  at::Tensor left = rows.clone();
  std::vector<at::Tensor> numbers;
  for (std::int64_t j = 0; j < k; ++j) {
    numbers.push_back(std::get<1>(left.max(1, true)));
    left.scatter_(1, numbers.back(), -std::numeric_limits<double>::infinity());
  }
  return at::cat(numbers, 1);
}

/// s_j / Σ s over the choices kept, from the logits of a token's choices: the softmax of log s. So a choice
/// that is left alone has a gradient of exactly 0. A quotient's gradient is a difference of two terms, and
/// Adam makes whole steps of its rounding. Choices that are not kept get any finite value.
at::Tensor shares(GateOptions::Score score, const at::Tensor& logits, const at::Tensor& kept) {
  constexpr double kExact = 50;  // above it, log(1 + exp(x)) is x in fp64
  at::Tensor logs =
      score == GateOptions::Score::softmax ? logits : at::softplus(logits.neg(), 1, kExact).neg();
  if (kept.defined()) logs = logs.masked_fill(kept.logical_not(), std::numeric_limits<float>::lowest());
  return logs.softmax(1);
}

/// The gate values of the chosen experts, 0 of a choice that is not kept. `kept` is undefined where all are.
at::Tensor gates_of(const GateOptions& o, const at::Tensor& logits, const at::Tensor& scores,
                    const at::Tensor& chosen, const at::Tensor& kept) {
  at::Tensor gates =
      o.renormalise ? shares(o.score, logits.gather(1, chosen), kept) : scores.gather(1, chosen);
  if (kept.defined()) gates = gates.mul(kept.to(gates.scalar_type()));
  return o.scale == 1 ? gates : gates.mul(o.scale);
}

/// What a loss and statistics need of a micro-batch: sums over its tokens.
struct Sums {
  std::int64_t experts;
  at::Tensor all;  // 3E + 3, fp64

  at::Tensor probability() const { return all.narrow(0, 0, experts); }
  at::Tensor first() const { return all.narrow(0, experts, experts); }
  at::Tensor chosen() const { return all.narrow(0, 2 * experts, experts); }
  at::Tensor dropped() const { return all[3 * experts]; }
  at::Tensor z() const { return all[3 * experts + 1]; }
  at::Tensor entropy() const { return all[3 * experts + 2]; }
};

/// By expert: how many tokens have it as their first choice, and among all choices; then the number dropped.
at::Tensor counted(const Choices& before, const Choices& after, std::int64_t experts) {
  std::vector<double> numbers(static_cast<std::size_t>(2 * experts) + 1, 0);
  for (std::size_t i = 0; i < before.experts.size(); ++i) {
    const std::int64_t expert = before.experts[i];
    if (static_cast<std::int64_t>(i) % before.k == 0) ++numbers[static_cast<std::size_t>(expert)];
    ++numbers[static_cast<std::size_t>(experts + expert)];
    if (after.experts[i] < 0) ++numbers.back();
  }
  return at::tensor(numbers, at::kDouble);
}

/// Added over all workers that shard tokens.
Sums summed(const Vector& logits, const detail::TokenRuns& tokens, const at::Tensor& rows,
            const at::Tensor& probabilities, const at::Tensor& counts, bool differentiable) {
  const at::Tensor p = probabilities.to(at::kDouble);
  const at::Tensor z = at::logsumexp(rows, {1}).to(at::kDouble).square().sum().view({1});
  const at::Tensor entropy = at::special_entr(p.detach()).sum().view({1});
  const std::int64_t experts = rows.size(1);
  const at::Tensor mine = at::cat({p.sum(0), counts.to(p.device()), z, entropy});
  Space M(logits.space().partition(), {3 * experts + 3});
  const Space all = M;
  for (const std::string& axis : tokens.axes) M = M.partial(axis);
  const bool constant = logits.is_constant() || !differentiable;
  return {experts, to_space(Vector(M, constant ? mine.detach() : mine, constant), all).local()};
}

at::Tensor balance_loss(const GateOptions& o, const Sums& sums, double n) {
  const at::Tensor m = sums.probability().div(n);
  const auto experts = static_cast<double>(sums.experts);
  if (o.balance == Balance::all_choices)
    return m.mul(sums.chosen().detach()).sum().mul(experts / (n * static_cast<double>(o.k)));
  const at::Tensor product = m.mul(sums.first().detach()).sum().div(n);
  return o.balance == Balance::gshard ? product.div(experts) : product.mul(experts);
}

bool is_training() {
  const Context* const context = ContextScope::current();
  return context != nullptr && context->training;
}

/// Of n tokens.
GateStatistics statistics_from(const Sums& sums, double n, std::int64_t k) {
  const double choices = n * static_cast<double>(k);
  return {sums.chosen().div(choices), sums.dropped().div(choices), sums.entropy().div(n)};
}

/// The logits' space with another last dim.
Space with_last(const Space& L, std::int64_t extent) {
  std::vector<std::int64_t> shape = L.shape();
  shape.back() = extent;
  return L.with_shape(shape);
}

void check_logits(const std::string& path, const Space& L, std::int64_t experts) {
  RIESZ_CHECK(L.dims() >= 1 && L.shape().back() == experts, "gate ", path, " takes logits of ", experts,
              " experts in the last dim, not\n  ", to_string(L));
  for (const Axis& axis : L.partition().axes()) {
    const Placement placement = L.placement(axis.name);
    const int dim = L.dim_of(L.partition().index(axis.name));
    RIESZ_CHECK(
        axis.extent == 1 || placement == Placement::Replicated ||
            (placement == Placement::Sharded && dim < L.dims() - 1 && !L.copies(dim) && !L.terms(dim)),
        "gate ", path, ": logits are ", to_string(placement), " on axis ", axis.name, ", in\n  ",
        to_string(L),
        "\nthe last dim is whole, and tokens are Sharded, without overlap, or Replicated; "
        "bring them there by to_space");
  }
}

}  // namespace

TopKGate::TopKGate(OwnerAndName place, const Partition& workers, std::int64_t experts,
                   const GateOptions& options)
    : Layer(std::move(place)), experts_(experts), options_(options) {
  check_options(path(), experts, options);
  if (options.bias_rate > 0)
    bias_ =
        parameter("e_score_correction_bias", Space(workers, {experts}), {Initial::zeros(), false, {}, false});
}

/// Where the k greatest are chosen: scores with noise and bias.
at::Tensor TopKGate::for_choice(const Vector& logits, const at::Tensor& rows,
                                const at::Tensor& scores) const {
  if (options_.noise == 0) return scores;
  const Context* const context = ContextScope::current();
  RIESZ_CHECK(context != nullptr, "gate ", path(),
              " has noise and is called in no context; say const ContextScope "
              "scope({.training = ..., .seed = ..., .step = ...}) around the model's call");
  if (!context->training) return scores;
  const detail::TokenRuns tokens = detail::token_runs(logits.space());
  const std::vector<std::int64_t>& shape = logits.space().shape();
  const std::int64_t per_row = shape.size() > 1 && shape[0] > 0 ? tokens.tokens / shape[0] : 1;
  const std::int64_t before = context->rows > 0 ? context->first_row * per_row : 0;
  Intervals elements;
  for (const detail::TokenRuns::Run& run : tokens.runs[tokens.me])
    elements.push_back({(before + run.first) * experts_, (before + run.first + run.count) * experts_});
  const std::uint64_t key = philox_key(context->seed, concat(path(), ", step ", context->step));
  const at::Tensor noisy =
      rows.add(normal(elements, key).view(rows.sizes()).to(rows.options()).mul(options_.noise));
  return options_.score == GateOptions::Score::softmax ? noisy.softmax(1) : noisy.sigmoid();
}

Routing TopKGate::forward(const Vector& logits) {
  const Space& L = logits.space();
  check_logits(path(), L, experts_);
  const Space G = with_last(L, options_.k);
  const Space scalar(L.partition(), {}), by_expert(L.partition(), {experts_});
  const bool over_gates = options_.balance == Balance::over_gates;
  const bool balances = !over_gates && options_.balance != Balance::none;
  const bool has_loss = balances || options_.z_weight > 0, varies = has_loss || over_gates;
  if (!L.partition().active()) {
    const at::Tensor like = detail::to_accumulation_type(logits.local());
    const auto there = [&](const Space& X, bool trained) {
      return detail::elsewhere(X, {like}, logits.is_constant() || !trained);
    };
    return {{{}, options_.k},
            there(G, true),
            there(scalar, has_loss),
            there(by_expert, over_gates),
            there(by_expert, false),
            {},
            {}};
  }
  const bool softmax = options_.score == GateOptions::Score::softmax;
  const at::Tensor rows = detail::to_accumulation_type(logits.local()).reshape({-1, experts_});
  const at::Tensor scores = softmax ? rows.softmax(1) : rows.sigmoid();
  const detail::TokenRuns tokens = detail::token_runs(L);
  at::Tensor chosen;
  {
    const at::NoGradGuard no_gradient;
    at::Tensor of_choice = for_choice(logits, rows.detach(), scores.detach());
    if (bias_) of_choice = of_choice.add(bias_->value().local());
    chosen = greatest(of_choice, options_.k);
  }
  if (consistency_checks())
    check_alike(concat("the choice of experts of gate ", path()), G, chosen.view(G.local_shape()));
  const Choices before = choices_of(chosen, experts_);
  Choices choices = before;
  RowCounts counts;
  const bool drops = options_.drop != Drop::none && (options_.drops_always || is_training());
  if (drops) {
    const at::NoGradGuard no_gradient;
    const auto capacity =
        static_cast<std::int64_t>(expert_capacity(options_, experts_, static_cast<double>(tokens.tokens)));
    counts = options_.drop == Drop::position
                 ? detail::drop_by_position(L.partition(), tokens, experts_, capacity, choices)
                 : detail::drop_by_probability(
                       tokens, experts_, capacity,
                       Vector(G, scores.gather(1, chosen).view(G.local_shape()), true), choices);
  }
  const at::Tensor kept =
      drops ? at::tensor(choices.experts, at::kLong).ge(0).view(chosen.sizes()).to(chosen.device())
            : at::Tensor();
  const at::Tensor gates = gates_of(options_, rows, scores, chosen, kept);

  const at::Tensor probabilities = softmax ? scores : scores.div(scores.sum(1, true));
  const Sums sums = [&] {
    const at::AutoGradMode recorded(varies && at::GradMode::is_enabled());
    return summed(logits, tokens, rows, probabilities, counted(before, choices, experts_), varies);
  }();
  const double n = static_cast<double>(std::max<std::int64_t>(1, tokens.tokens));
  at::Tensor loss = at::zeros_like(sums.z().detach());
  if (balances) loss = loss.add(balance_loss(options_, sums, n).mul(options_.balance_weight));
  if (options_.z_weight > 0) loss = loss.add(sums.z().mul(options_.z_weight / n));

  const Sums found{experts_, sums.all.detach()};
  keep({found.all, tokens.tokens});
  if (bias_ && at::GradMode::is_enabled())
    counted_ = counted_.defined() ? counted_.add(found.chosen()) : found.chosen().clone();
  const at::Tensor m = sums.probability().div(n);
  GateStatistics statistics = statistics_from(found, n, options_.k);
  const at::ScalarType type = rows.scalar_type();
  Routing routing{std::move(choices),
                  {G, gates.view(G.local_shape()), logits.is_constant()},
                  {scalar, loss.to(type), logits.is_constant() || !has_loss},
                  {by_expert, (over_gates ? m : m.detach()).to(type), logits.is_constant() || !over_gates},
                  {by_expert, statistics.load.to(type), true},
                  statistics,
                  {}};
  if (!counts.empty()) {
    routing.counts.resize(static_cast<std::size_t>(L.partition().size()));
    for (std::size_t i = 0; i < counts.size(); ++i)
      routing.counts[static_cast<std::size_t>(tokens.ranks[i])] = std::move(counts[i]);
  }
  return routing;
}

void TopKGate::keep(const MicroBatch& micro_batch) {
  const Context* const context = ContextScope::current();
  if (context == nullptr || !context->training || micro_batch.tokens == 0) return;
  if (std::exchange(step_, context->step) != context->step) of_step_.clear();
  of_step_.insert_or_assign(context->first_row, micro_batch);
}

std::optional<GateStatistics> TopKGate::statistics_of(std::int64_t step) const {
  if (step != step_ || of_step_.empty()) return std::nullopt;
  const at::NoGradGuard no_gradient;
  at::Tensor all;
  double n = 0;
  for (const auto& [first_row, each] : of_step_) {
    all = all.defined() ? all.add(each.sums) : each.sums;
    n += static_cast<double>(each.tokens);
  }
  return statistics_from({experts_, all}, n, options_.k);
}

void TopKGate::move_bias() {
  if (!bias_ || !counted_.defined()) return;
  const at::NoGradGuard no_gradient;
  const Vector bias = bias_->get();
  const at::Tensor moved = counted_.mean().sub(counted_).sign().mul(options_.bias_rate);
  bias_->set(Vector(bias.space(), bias.local().add(moved.to(bias.local().scalar_type()))));
  counted_ = at::Tensor();
}

std::string TopKGate::describe() const { return concat("gate: ", options_.k, " of ", experts_, " experts"); }

}  // namespace riesz
