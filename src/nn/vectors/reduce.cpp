// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/reduce.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/vectors/dims.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

/// What a reduction over some dims of X leads to.
struct Reduced {
  Space X;
  std::vector<int> given;          // dims
  std::vector<std::string> axes;   // that shard these dims
  std::vector<std::int64_t> dims;  // in order, none negative
  std::int64_t count = 1;          // elements reduced to one
  Operator agree;                  // from Partial on those axes to Replicated

  const Space& terms() const { return agree.domain(); }
  const Space& agreed() const { return agree.range(); }
};

Reduced planned(const char* what, const Space& X, const std::vector<int>& given_dims) {
  std::vector<int> dims;
  if (given_dims.empty()) dims = detail::other_dims(X, {});
  for (const int dim : dims) detail::check_no_copies(what, X, dim);
  for (const int given : given_dims) {
    const int dim = detail::checked_dim(what, X, given);
    RIESZ_CHECK(std::find(dims.begin(), dims.end(), dim) == dims.end(), what, ": dim ", dim,
                " is given twice");
    detail::check_no_copies(what, X, dim);
    dims.push_back(dim);
  }
  const Space agreed = select_dims(X, detail::other_dims(X, dims));
  Space terms = agreed;
  std::vector<std::string> axes;
  std::int64_t count = 1;
  for (const int dim : dims) {
    count *= X.shape()[static_cast<std::size_t>(dim)];
    for (const std::string& axis : sharding_axes(X, dim)) {
      terms = terms.partial(axis);
      axes.push_back(axis);
    }
  }
  return {X, given_dims, axes, {dims.begin(), dims.end()}, count, between(terms, agreed)};
}

std::shared_ptr<const Reduced> reduced(const char* what, const Vector& x, const std::vector<int>& dims) {
  static auto& plans = *new detail::PlanCache<Reduced>;
  return plans.get([&](const Reduced& made) { return made.given == dims && made.X == x.space(); },
                   [&] { return planned(what, x.space(), dims); });
}

Vector sum_as(const char* what, const Vector& x, const std::vector<int>& dims, const ReduceOptions& options,
              bool divided) {
  const auto plan = reduced(what, x, dims);
  const at::ScalarType type = x.local().scalar_type(), summed = accumulation_type(type);
  at::Tensor local = x.local().to(summed);
  if (x.space().partition().active()) local = at::sum(local, plan->dims);
  if (divided) local = local.div(static_cast<double>(plan->count));
  const Vector terms(plan->terms(), local, x.is_constant());
  const Vector result = options.all_reduce ? plan->agree(terms) : terms;
  return type == summed ? result : Vector(result.space(), result.local().to(type), x.is_constant());
}

/// Of size 1 in the dims that were reduced, so that it stands beside what it was reduced from.
at::Tensor with_dims(at::Tensor reduced, std::vector<std::int64_t> dims) {
  std::sort(dims.begin(), dims.end());
  for (const std::int64_t dim : dims) reduced = reduced.unsqueeze(dim);
  return reduced;
}

/// The shares of x in the greatest of all, given that and how many equal it. Moves nothing between workers.
class MaxNode : public detail::Node {
 public:
  explicit MaxNode(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  /// Of x, the greatest, and how many.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    return {inputs[1].clone()};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor equal = inputs[0].eq(beside(inputs[1]));
    return {beside(gradients[0]).mul(equal).div(beside(inputs[2])).to(inputs[0].scalar_type()), {}, {}};
  }

 private:
  at::Tensor beside(const at::Tensor& reduced) const { return with_dims(reduced, dims_); }

  std::vector<std::int64_t> dims_;
};

/// A number that no element is below.
at::Tensor least(const Space& Y, const at::Tensor& like) {
  const at::ScalarType type = like.scalar_type();
  if (at::isFloatingType(type)) {
    return at::full(Y.local_shape(), -std::numeric_limits<double>::infinity(), like.options());
  }
  const bool is_byte = type == at::kByte || type == at::kBool;
  const std::int64_t bytes = static_cast<std::int64_t>(c10::elementSize(type));
  const std::int64_t smallest = is_byte ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - 8 * bytes);
  return at::full(Y.local_shape(), smallest, like.options());
}

/// How many elements of x equal the greatest.
at::Tensor count_equal(const Reduced& plan, const at::Tensor& x, const at::Tensor& greatest, bool here) {
  const at::NoGradGuard guard;
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor mine =
      here ? at::sum(x.eq(with_dims(greatest, plan.dims)), plan.dims, false, type) : x.to(type);
  return plan.agree(Vector(plan.terms(), mine)).local();
}

}  // namespace

Vector sum(const Vector& x, const std::vector<int>& dims, const ReduceOptions& options) {
  return sum_as("sum", x, dims, options, false);
}

Vector mean(const Vector& x, const std::vector<int>& dims, const ReduceOptions& options) {
  return sum_as("mean", x, dims, options, true);
}

Vector max(const Vector& x, const std::vector<int>& dims) {
  check_not_partial("max", x.space());
  const auto plan = reduced("max", x, dims);
  RIESZ_CHECK(plan->count > 0, "max over no elements, of ", to_string(x.space()));
  const bool here = x.space().partition().active();
  if (plan->axes.empty())
    return {plan->agreed(), here ? at::amax(x.local(), plan->dims) : x.local(), x.is_constant()};

  const at::Tensor mine = x.local().detach();
  at::Tensor greatest = mine;
  if (here) {
    const bool none = mine.numel() == 0;
    greatest = none ? least(plan->agreed(), mine) : at::amax(mine, plan->dims);
  }
  greatest = all_max(x.space().partition(), plan->axes, greatest);
  if (x.is_constant() || !plan->agree.recorded(x.local())) return {plan->agreed(), greatest, x.is_constant()};
  const at::Tensor equal = count_equal(*plan, mine, greatest, here);
  if (!here) return {plan->agreed(), greatest};
  return {plan->agreed(),
          detail::record(std::make_shared<MaxNode>(plan->dims), {x.local(), greatest, equal})[0]};
}

}  // namespace riesz
