// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/operator.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "riesz/comm/descriptions.h"
#include "riesz/comm/error.h"
#include "riesz/comm/new_tensor.h"
#include "riesz/comm/spin_lock.h"
#include "riesz/primitives/application.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/moves/ends.h"
#include "riesz/primitives/node.h"

namespace riesz {

struct Operator::Impl {
  Space domain;
  Space range;
  std::vector<Step> forward;
  std::vector<Step> backward;
  Space dual_domain;
  Space dual_range;
  bool communicates = false;
  // The adjoint, once it was asked for, which does not keep what it is the adjoint of.
  mutable std::shared_ptr<const Impl> adjoint = nullptr;
  mutable std::weak_ptr<const Impl> adjoint_of = {};
};

namespace {

at::Tensor run(const Operator& A, const at::Tensor& x) {
  at::Tensor y = applied(A, x);
  if (y.is_same(x)) return x.detach();
  return y;
}

/// Backward is the adjoint, applied by the same differentiable call.
class ApplyNode : public detail::Node {
 public:
  explicit ApplyNode(Operator op) : A_(std::move(op)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    std::vector<at::Tensor> results(2);  // a list in braces would copy what is in it
    results[0] = run(A_, inputs[0]);
    results[1] = no_elements(inputs[1].options());
    return results;
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    detail::Applied applied = detail::apply(adjoint(A_), gradients[0], gradients[1]);
    gradients[0] = std::move(applied.y);
    gradients[1] = std::move(applied.token);
    return gradients;
  }

 private:
  Operator A_;
};

/// A change of how unsharded axes are placed, an exchange among axes that shard before and after, or another
/// move.
enum class Sort { change, exchange, other };

Sort sort_of(const Primitive& step) {
  if (step.domain().partition() != step.range().partition()) return Sort::other;
  const auto sharded = [](const Space& X) {
    return [&X](int a) { return X.placement(a) == Placement::Sharded; };
  };
  const std::vector<int>& axes = step.axes();
  if (std::all_of(axes.begin(), axes.end(), sharded(step.domain())) &&
      std::all_of(axes.begin(), axes.end(), sharded(step.range()))) {
    return Sort::exchange;
  }
  return std::none_of(axes.begin(), axes.end(), sharded(step.domain())) &&
                 std::none_of(axes.begin(), axes.end(), sharded(step.range()))
             ? Sort::change
             : Sort::other;
}

/// The steps in one order: changes and exchanges act on different axes and commute, so of neighbours the
/// changes come first, by their texts.
std::vector<Step> canonical(std::vector<Step> steps) {
  const auto rank = [](const Step& step) { return sort_of(*step) == Sort::change ? 0 : 1; };
  for (auto begin = steps.begin(); begin != steps.end();) {
    const auto end =
        std::find_if(begin, steps.end(), [](const Step& step) { return sort_of(*step) == Sort::other; });
    std::stable_sort(begin, end, [&](const Step& a, const Step& b) {
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      return rank(a) == 0 && a->operation().text < b->operation().text;
    });
    begin = end == steps.end() ? end : end + 1;
  }
  return steps;
}

bool same_step(const Step& a, const Step& b) {
  if (a->operation().text != b->operation().text) return false;
  if (sort_of(*a) == Sort::change) return true;
  if (sort_of(*a) == Sort::other) {
    return primitives::equivalent(a->domain(), b->domain()) && primitives::equivalent(a->range(), b->range());
  }
  return primitives::same_sharding(a->domain(), b->domain()) &&
         primitives::same_sharding(a->range(), b->range());
}

}  // namespace

Operator::Operator(Space domain, Space range, std::vector<Step> steps) {
  std::vector<Step> backward;
  bool communicates = false;
  const Space* at = &domain;
  for (const Step& step : steps) {
    RIESZ_CHECK(primitives::equivalent(step->domain(), *at), "Operator: step ", to_string(*step),
                " starts in\n  ", to_string(step->domain()), "\nbut what comes before ends in\n  ",
                to_string(*at));
    at = &step->range();
    backward.insert(backward.begin(), step->adjoint());
    communicates = communicates || step->sends() || backward.front()->sends();
  }
  RIESZ_CHECK(primitives::equivalent(*at, range), "Operator: the last step ends in\n  ", to_string(*at),
              "\nbut the range is\n  ", to_string(range));
  Space dual_domain = dual(domain);
  Space dual_range = dual(range);
  impl_ =
      std::make_shared<Impl>(Impl{std::move(domain), std::move(range), std::move(steps), std::move(backward),
                                  std::move(dual_domain), std::move(dual_range), communicates});
}

const Space& Operator::domain() const { return impl_->domain; }
const Space& Operator::range() const { return impl_->range; }
const std::vector<Step>& Operator::steps() const { return impl_->forward; }
bool Operator::communicates() const { return impl_->communicates; }

bool Operator::sends() const {
  return std::any_of(steps().begin(), steps().end(), [](const Step& step) { return step->sends(); });
}

Traffic Operator::traffic(int rank) const {
  Traffic sum;
  const int world = domain().partition().world_rank(rank);
  for (const Step& step : steps()) {
    const int here = step->domain().partition().rank_in(world);
    if (here >= 0) sum += step->traffic(here);
  }
  return sum;
}

Operator adjoint(const Operator& A) {
  static SpinLock mutex;
  const std::lock_guard lock(mutex);
  const Operator::Impl& a = *A.impl_;
  if (a.adjoint) return Operator(a.adjoint);
  if (auto back = a.adjoint_of.lock()) return Operator(std::move(back));
  auto made = std::make_shared<Operator::Impl>(
      Operator::Impl{a.dual_range, a.dual_domain, a.backward, a.forward, a.range, a.domain, a.communicates});
  made->adjoint_of = A.impl_;
  a.adjoint = std::move(made);
  return Operator(a.adjoint);
}

Operator operator*(const Operator& A, const Operator& B) {
  RIESZ_CHECK(A.domain() == B.range(), "A * B needs A.domain() == B.range(), not\n  ", to_string(A.domain()),
              "\n  ", to_string(B.range()), "\ncompose through between(B.range(), A.domain())");
  std::vector<Step> steps = B.steps();
  steps.insert(steps.end(), A.steps().begin(), A.steps().end());
  return {B.domain(), A.range(), std::move(steps)};
}

bool operator==(const Operator& A, const Operator& B) {
  if (&A.steps() == &B.steps()) return true;  // two handles of one
  if (A.domain() != B.domain() || A.range() != B.range()) return false;
  const std::vector<Step> a = canonical(A.steps());
  const std::vector<Step> b = canonical(B.steps());
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_step);
}

std::string to_string(const Operator& A) {
  detail::count_text();
  std::string text;
  for (const Step& step : A.steps()) text += (text.empty() ? "" : ", ") + to_string(*step);
  return text.empty() ? "identity" : text;
}

detail::Applied detail::apply(const Operator& A, const at::Tensor& x, const at::Tensor& token) {
  if (!at::GradMode::is_enabled()) return {applied(A, x), token};
  std::vector<at::Tensor> results = record(std::make_shared<ApplyNode>(A), {x, token});
  return {std::move(results[0]), std::move(results[1])};
}

void Operator::check_domain(const Vector& x) const {
  RIESZ_CHECK(x.space() == domain(), "the operator ", to_string(*this), " has the domain\n  ",
              to_string(domain()), "\nbut is called with a vector of\n  ", to_string(x.space()), "\n",
              x.space().shape() == domain().shape() ? "bring it there with between(X, Y)"
                                                    : conversion_hint(x.space(), domain()));
}

bool Operator::recorded(const at::Tensor& x) const {
  if (!at::GradMode::is_enabled() || !(x.is_floating_point() || x.is_complex())) return false;
  return Chain::current() != nullptr || x.requires_grad();
}

Chain& Operator::chain_for_gradients() const {
  Chain* chain = Chain::current();
  RIESZ_CHECK(
      chain != nullptr, "the operator ", to_string(*this),
      " communicates while gradients are recorded, but "
      "outside a chain: open one around the computation of a loss (riesz::Chain chain;), or record none "
      "(at::NoGradGuard guard;)");
  return *chain;
}

Vector Operator::operator()(const Vector& x) const {
  check_domain(x);
  detail::check_constancy(*this, x);
  if (steps().empty()) return {range(), x.local(), x.is_constant()};
  const at::Tensor& local = x.local();
  if (!recorded(x)) return {range(), run(*this, local), x.is_constant()};
  if (!communicates()) {
    return {range(), detail::apply(*this, local, no_elements(local.options())).y};
  }
  Chain& chain = chain_for_gradients();
  detail::Applied applied = detail::apply(*this, local, chain.token(local.device()));
  chain.advance(std::move(applied.token));
  return {range(), std::move(applied.y)};
}

}  // namespace riesz
