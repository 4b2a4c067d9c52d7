// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/local/local_function.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/on_its_way.h"
#include "riesz/nn/local/vector_jacobian.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/node.h"

namespace riesz {

struct LocalFunction::Plan {
  std::string name;
  std::vector<Operator> reads;
  Operator write;
  Function f;
  LocalFunctionOptions options;
};

namespace {

using LocalPlan = LocalFunction::Plan;
using Tensors = std::vector<at::Tensor>;

void check_axis(const std::string& name, const Axis& axis, const std::vector<LocalOperand>& inputs,
                const Space& Z) {
  const auto all_are = [&](Placement placement) {
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](const LocalOperand& x) { return x.computed.placement(axis.name) == placement; });
  };
  const Placement of_result = Z.placement(axis.name);
  if (all_are(Placement::Replicated) && of_result == Placement::Replicated) return;
  for (const LocalOperand& x : inputs) {
    const Placement placement = x.computed.placement(axis.name);
    RIESZ_CHECK(placement == Placement::Sharded || placement == Placement::Copied, "local function ", name,
                ": on axis ", axis.name, " an input is computed with ", to_string(placement), ", in\n  ",
                to_string(x.computed), "\nbut workers compute differently there, for the result is ",
                to_string(of_result), " or another input Sharded or Copied; read it Sharded or Copied");
  }
  RIESZ_CHECK(of_result == Placement::Sharded || of_result == Placement::Partial ||
                  (of_result == Placement::Copied && all_are(Placement::Copied)),
              "local function ", name, ": on axis ", axis.name, " the result is computed ",
              to_string(of_result), ", in\n  ", to_string(Z),
              "\nfrom inputs that are Sharded or Copied there; it is Sharded, or Partial where "
              "each worker computes a term of it");
}

void check_spaces(const std::string& name, const std::vector<LocalOperand>& inputs, const Space& Z) {
  RIESZ_CHECK(!inputs.empty(), "local function ", name, " has no input");
  for (const LocalOperand& x : inputs) {
    check_not_partial(concat("local function ", name), x.computed);
    RIESZ_CHECK(x.computed.partition() == Z.partition(), "local function ", name,
                " computes with operands of\n  ", to_string(x.computed), "\n  ", to_string(Z),
                "\non two grids; read them to one");
  }
  for (int axis = 0; axis < static_cast<int>(Z.partition().axes().size()); ++axis) {
    if (Z.partition().axis(axis).extent > 1) check_axis(name, Z.partition().axis(axis), inputs, Z);
  }
}

bool has_gradient(const at::Tensor& x) { return x.is_floating_point() || x.is_complex(); }

at::ScalarType type_of_result(const LocalPlan& plan, const Tensors& zs) {
  if (plan.options.result_type) return *plan.options.result_type;
  const auto first = std::find_if(zs.begin(), zs.end(), has_gradient);
  RIESZ_CHECK(first != zs.end(), "local function ", plan.name,
              " has inputs of integers alone; say the result's type (LocalFunctionOptions::result_type)");
  return first->scalar_type();
}

/// f, where this worker computes.
at::Tensor computed(const LocalPlan& plan, const Tensors& zs) {
  const Space& Z = plan.write.domain();
  const at::ScalarType type = type_of_result(plan, zs);
  if (!Z.partition().active()) return at::empty({0}, zs.front().options().dtype(type));
  const at::Tensor y = plan.f(zs);
  RIESZ_CHECK(y.defined() && y.sizes() == at::IntArrayRef(Z.local_shape()), "local function ", plan.name,
              " returned a tensor of shape ", y.defined() ? y.sizes() : at::IntArrayRef(), " where ",
              to_string(Z), " gives this worker ", at::IntArrayRef(Z.local_shape()));
  RIESZ_CHECK(y.scalar_type() == type, "local function ", plan.name, " returned ",
              at::toString(y.scalar_type()), " where ", at::toString(type),
              " is expected; say the result's type (LocalFunctionOptions::result_type)");
  return y;
}

/// A result that f took from no input, as on a worker outside or without elements: it has no gradient in
/// them.
class ResultOfNothing : public detail::Node {
 public:
  explicit ResultOfNothing(at::Tensor z) : z_(std::move(z)) {}

  Tensors forward(const Tensors& inputs) override {
    inputs_ = inputs.size();
    return {std::move(z_)};
  }
  Tensors backward(Tensors) override { return Tensors(inputs_); }

 private:
  at::Tensor z_;
  std::size_t inputs_ = 0;
};

/// The same, recorded: whether y requires a gradient must be known on all workers alike, for a pipeline asks.
at::Tensor computed_and_recorded(const LocalPlan& plan, const Tensors& zs) {
  const at::Tensor z = computed(plan, zs);
  if (z.requires_grad() || !has_gradient(z)) return z;
  return detail::record(std::make_shared<ResultOfNothing>(z), zs).front();
}

/// A₁x₁, A₂x₂, …, all on their way at once.
Tensors all_of(const std::vector<Operator>& operators, const Tensors& xs) {
  std::vector<detail::OnItsWay> coming;
  for (std::size_t i = 0; i < xs.size(); ++i) coming.emplace_back(operators[i], xs[i]);
  Tensors results;
  for (detail::OnItsWay& one : coming) results.push_back(one.take());
  return results;
}

Tensors chosen(const Tensors& xs, const std::vector<std::size_t>& which) {
  Tensors some;
  for (const std::size_t i : which) some.push_back(xs[i]);
  return some;
}

/// Of the inputs and the token. It saves the inputs as given; backward reads them again, and calls f again.
class LocalFunctionNode : public detail::Node {
 public:
  /// `varied`: the inputs that have gradients.
  LocalFunctionNode(std::shared_ptr<const LocalPlan> plan, std::vector<std::size_t> varied)
      : plan_(std::move(plan)), varied_(std::move(varied)) {}

  Tensors forward(const Tensors& inputs) override {
    const Tensors xs(inputs.begin(), inputs.end() - 1);
    save(xs);
    const at::Tensor z = computed(*plan_, all_of(plan_->reads, xs));
    return {all_of({plan_->write}, {z}).front(), at::empty({0}, inputs.back().options())};
  }

  Tensors backward(Tensors gradients) override {
    const Tensors xs = saved();
    if (at::GradMode::is_enabled()) return differentiable(xs, gradients[0], gradients[1]);
    std::vector<Operator> reads = plan_->reads;
    reads.push_back(adjoint(plan_->write));
    Tensors zs = xs;
    zs.push_back(gradients[0]);
    zs = all_of(reads, zs);
    const at::Tensor ybar = zs.back();
    zs.pop_back();
    const Tensors zbars = local_gradients(zs, ybar);
    std::vector<Operator> back;
    for (const std::size_t i : varied_) back.push_back(adjoint(plan_->reads[i]));
    return placed(all_of(back, zbars), xs.size(), gradients[1]);
  }

 private:
  Tensors local_gradients(Tensors& zs, const at::Tensor& ybar) const {
    for (const std::size_t i : varied_) zs[i] = zs[i].detach().requires_grad_();
    const at::AutoGradMode on(true);
    return detail::vector_jacobian(computed(*plan_, zs), chosen(zs, varied_), ybar, false);
  }

  Tensors differentiable(const Tensors& xs, const at::Tensor& ybar, at::Tensor token) const {
    const auto apply = [&token](const Operator& A, const at::Tensor& x) {
      detail::Applied applied = detail::apply(A, x, token);
      token = applied.token;
      return applied.y;
    };
    Tensors zs;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const bool varied = std::find(varied_.begin(), varied_.end(), i) != varied_.end();
      zs.push_back(varied ? apply(plan_->reads[i], xs[i]) : unrecorded(plan_->reads[i], xs[i]));
      if (varied && !zs.back().requires_grad()) zs.back() = zs.back().detach().requires_grad_();
    }
    const at::Tensor read_ybar = apply(adjoint(plan_->write), ybar);
    Tensors results = detail::vector_jacobian(computed(*plan_, zs), chosen(zs, varied_), read_ybar, true);
    for (std::size_t i = 0; i < varied_.size(); ++i)
      results[i] = apply(adjoint(plan_->reads[varied_[i]]), results[i]);
    return placed(results, xs.size(), token);
  }

  static at::Tensor unrecorded(const Operator& A, const at::Tensor& x) {
    const at::NoGradGuard no_gradient;
    return A(Vector(A.domain(), x)).local();
  }

  Tensors placed(const Tensors& gradients, std::size_t inputs, const at::Tensor& token) const {
    Tensors all(inputs);
    for (std::size_t i = 0; i < varied_.size(); ++i) all[varied_[i]] = gradients[i];
    all.push_back(token);
    return all;
  }

  std::shared_ptr<const LocalPlan> plan_;
  std::vector<std::size_t> varied_;
};

std::vector<Operator> reads_as(const std::vector<LocalOperand>& inputs) {
  std::vector<Operator> reads;
  for (const LocalOperand& x : inputs) reads.push_back(between(x.stored, x.computed));
  return reads;
}

}  // namespace

LocalFunction::LocalFunction(std::string name, const std::vector<LocalOperand>& inputs,
                             const LocalOperand& result, Function f, const LocalFunctionOptions& options) {
  check_spaces(name, inputs, result.computed);
  plan_ = std::make_shared<const Plan>(Plan{std::move(name), reads_as(inputs),
                                            between(result.computed, result.stored), std::move(f), options});
}

const std::string& LocalFunction::name() const { return plan_->name; }
const std::vector<Operator>& LocalFunction::reads() const { return plan_->reads; }
const Operator& LocalFunction::write() const { return plan_->write; }

bool LocalFunction::communicates() const {
  return write().communicates() ||
         std::any_of(reads().begin(), reads().end(), [](const Operator& A) { return A.communicates(); });
}

Vector LocalFunction::operator()(const std::vector<Vector>& xs) const {
  RIESZ_CHECK(xs.size() == reads().size(), "local function ", name(), " takes ", reads().size(),
              " vectors, not ", xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i)
    RIESZ_CHECK(xs[i].space() == reads()[i].domain(), "local function ", name(), " takes, as its input ", i,
                ", vectors of\n  ", to_string(reads()[i].domain()), "\nnot of\n  ", to_string(xs[i].space()));
  Tensors inputs;
  std::vector<std::size_t> varied;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    inputs.push_back(xs[i].local());
    if (!xs[i].is_constant()) varied.push_back(i);
    if (!has_gradient(inputs.back()))
      detail::check_operand(concat("local function ", name(), ": input ", i), xs[i]);
  }
  if (!at::GradMode::is_enabled() || varied.empty()) {
    const at::NoGradGuard no_gradient;
    const at::Tensor z = computed(*plan_, all_of(reads(), inputs));
    return {write().range(), all_of({write()}, {z}).front(), varied.empty()};
  }
  const bool moves = std::any_of(reads().begin(), reads().end(), [](const Operator& A) { return A.sends(); });
  if (!moves || plan_->options.keep) {
    Tensors zs;
    for (std::size_t i = 0; i < xs.size(); ++i) zs.push_back(reads()[i](xs[i]).local());
    return write()(Vector(write().domain(), computed_and_recorded(*plan_, zs)));
  }
  Chain* chain = Chain::current();
  RIESZ_CHECK(
      chain != nullptr, "local function ", name(),
      " communicates while gradients are recorded, but outside a chain: open one around the computation of a "
      "loss (riesz::Chain chain;), or record none (at::NoGradGuard guard;)");
  inputs.push_back(chain->token(inputs.front().device()));
  const Tensors results =
      detail::record(std::make_shared<LocalFunctionNode>(plan_, std::move(varied)), inputs);
  chain->advance(results[1]);
  return {write().range(), results[0]};
}

Vector apply_local(const std::string& name, const std::vector<ReadAs>& inputs, const LocalOperand& result,
                   const LocalFunction::Function& f, const LocalFunctionOptions& options) {
  std::vector<LocalOperand> operands;
  std::vector<Vector> xs;
  for (const ReadAs& input : inputs) {
    operands.push_back({input.x.space(), input.computed});
    xs.push_back(input.x);
  }
  return LocalFunction(name, operands, result, f, options)(xs);
}

}  // namespace riesz
