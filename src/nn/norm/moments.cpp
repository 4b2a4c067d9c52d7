// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/moments.h"

#include <ATen/ExpandUtils.h>

#include <memory>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

at::Tensor centred(const at::Tensor& x, const at::Tensor& mean) {
  const at::Tensor values = to_accumulation_type(x);
  return mean.defined() ? values.sub(mean) : values;
}

/// From each worker's sums over its pieces of X's rows to the sums over the rows.
Operator sum_of_rows(const Space& X) {
  std::vector<int> rows;
  for (int dim = 0; dim + 1 < X.dims(); ++dim) rows.push_back(dim);
  Space copies = select_dims(X, rows);
  for (const std::string& axis : sharding_axes(X, X.dims() - 1)) copies = copies.copied(axis);
  Space terms = copies;
  for (const std::string& axis : sharding_axes(X, X.dims() - 1)) terms = terms.partial(axis);
  return between(terms, copies);
}

at::Tensor value_of(const at::Tensor& x, const Normalisation& by) {
  const at::Tensor y = centred(x, by.mean).mul(by.scale).mul_(by.weight);
  return (by.bias.defined() ? y.add_(by.bias) : y).to(x.scalar_type());
}

struct RowSum {
  Space X;
  Operator sum;
};

/// Of x, mean, scale, weight and bias. Moves nothing between workers. It gives its output again; for that it
/// has copies of weight and bias, whose memory may be elsewhere then.
class NormalisedNode : public Node {
 public:
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    std::vector<at::Tensor> all = inputs;
    for (std::size_t i = 3; i < 5; ++i) all.push_back(inputs[i].defined() ? inputs[i].clone() : inputs[i]);
    save(all);
    return {value_of(inputs[0], {inputs[1], inputs[2], inputs[3], inputs[4]})};
  }

  bool gives_again() const override { return true; }

  at::Tensor again() override {
    const std::vector<at::Tensor> of = saved();
    if (at::GradMode::is_enabled()) return normalised(of[0], {of[1], of[2], of[3], of[4]});
    return value_of(of[0], {of[1], of[2], of[5], of[6]});
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor &x = inputs[0], &mean = inputs[1], &scale = inputs[2], &weight = inputs[3],
                     &bias = inputs[4];
    const at::Tensor ybar = to_accumulation_type(gradients[0]);
    const at::Tensor xbar = ybar.mul(weight).mul(scale), products = ybar.mul(centred(x, mean));
    return {xbar, mean.defined() ? xbar.sum({-1}, true).neg() : at::Tensor(),
            products.mul(weight).sum({-1}, true),
            needs_gradient(3) ? at::sum_to(products.mul(scale), weight.sizes()) : at::Tensor(),
            bias.defined() && needs_gradient(4) ? at::sum_to(ybar, bias.sizes()) : at::Tensor()};
  }
};

/// Of x and mean.
class SquaredDeviationsNode : public Node {
 public:
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    return {centred(inputs[0], inputs[1]).square().sum({-1})};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor xbar = centred(inputs[0], inputs[1]).mul(gradients[0].unsqueeze(-1).mul(2));
    return {xbar, inputs[1].defined() ? xbar.sum({-1}, true).neg() : at::Tensor()};
  }
};

}  // namespace

Space beside_last_dim(const std::string& layer, const Space& X) {
  const int last = X.dims() - 1;
  RIESZ_CHECK(last >= 0, layer, " normalises over the last dim, which ", to_string(X), " has not");
  RIESZ_CHECK(X.shape().back() != Space::any, layer, ": the last dim of ", to_string(X),
              " is of any extent; the layer needs to know it");
  RIESZ_CHECK(!X.copies(last) && !X.terms(last), layer,
              " normalises over the last dim, whose split overlaps in ", to_string(X),
              ", so that elements would count twice; bring x with between(X, Y) to a space without");
  Space W = select_dims(X, {last});
  for (const Axis& axis : X.partition().axes()) {
    if (axis.extent == 1 || W.placement(axis.name) != Placement::Sharded) W = W.replicated(axis.name);
  }
  return W;
}

void check_normalises(std::string_view layer, const Space& X) {
  check_not_partial(layer, X);
  for (const Axis& axis : X.partition().axes()) {
    RIESZ_CHECK(axis.extent == 1 || X.placement(axis.name) != Placement::Copied, layer,
                " of a vector that is Copied on axis ", axis.name, ", in ", to_string(X),
                ", which must be Sharded or Replicated; bring it there with between(X, Y)");
  }
}

std::string letters_of(const Space& X) {
  return std::string("abcdefghijklmnopqrstuvwxyz").substr(0, static_cast<std::size_t>(X.dims()));
}

at::Tensor row_mean(const Space& X, const at::Tensor& sums, bool constant) {
  const auto n = static_cast<double>(X.shape().back());
  static auto& plans = *new PlanCache<RowSum>;
  const auto plan = plans.get([&](const RowSum& made) { return made.X == X; },
                              [&] {
                                return RowSum{X, sum_of_rows(X)};
                              });
  const Operator& A = plan->sum;
  const at::Tensor all = A(Vector(A.domain(), sums, constant)).local();
  return X.partition().active() ? all.div(n).unsqueeze(-1) : sums;
}

at::Tensor normalised(const at::Tensor& x, const Normalisation& by) {
  return record(std::make_shared<NormalisedNode>(), {x, by.mean, by.scale, by.weight, by.bias})[0];
}

at::Tensor squared_deviations(const at::Tensor& x, const at::Tensor& mean) {
  return record(std::make_shared<SquaredDeviationsNode>(), {x, mean})[0];
}

}  // namespace riesz::detail
