// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/together.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <memory>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/application.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

using Operators = std::vector<Operator>;

std::vector<at::Tensor> run(const Operators& operators, const std::vector<at::Tensor>& xs) {
  Application application(operators, xs);
  application.finish();
  std::vector<at::Tensor> ys;
  for (std::size_t i = 0; i < operators.size(); ++i) ys.push_back(application.result(i));
  return ys;
}

struct Results {
  std::vector<at::Tensor> values;
  at::Tensor token;
};

Results apply_all(const Operators& operators, const std::vector<at::Tensor>& xs, const at::Tensor& token);

/// The operator's node for several operators: of their vectors and the token.
class TogetherNode : public detail::Node {
 public:
  explicit TogetherNode(Operators operators) : operators_(std::move(operators)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    std::vector<at::Tensor> results = run(operators_, {inputs.begin(), inputs.end() - 1});
    for (at::Tensor& result : results) result = result.alias();
    results.push_back(at::empty({0}, inputs.back().options()));
    return results;
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    Operators adjoints;
    for (const Operator& A : operators_) adjoints.push_back(adjoint(A));
    const at::Tensor token = gradients.back();
    gradients.pop_back();
    Results results = apply_all(adjoints, gradients, token);
    results.values.push_back(results.token);
    return results.values;
  }

 private:
  Operators operators_;
};

Results apply_all(const Operators& operators, const std::vector<at::Tensor>& xs, const at::Tensor& token) {
  if (!at::GradMode::is_enabled()) return {run(operators, xs), token};
  std::vector<at::Tensor> inputs = xs;
  inputs.push_back(token);
  Results split{detail::record(std::make_shared<TogetherNode>(operators), inputs), {}};
  split.token = split.values.back();
  split.values.pop_back();
  return split;
}

}  // namespace

std::vector<Vector> together(const std::vector<Operator>& operators, const std::vector<Vector>& xs) {
  RIESZ_CHECK(operators.size() == xs.size(), "together: ", operators.size(), " operators for ", xs.size(),
              " vectors");
  std::vector<at::Tensor> values;
  bool recorded = false;
  bool communicates = false;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    operators[i].check_domain(xs[i]);
    detail::check_constancy(operators[i], xs[i]);
    values.push_back(xs[i].local());
    recorded = recorded || operators[i].recorded(xs[i]);
    communicates = communicates || operators[i].communicates();
  }
  Results results;
  if (!recorded) {
    results.values = run(operators, values);
  } else if (!communicates) {
    results = apply_all(operators, values, at::empty({0}, values.front().options().dtype(at::kFloat)));
  } else {
    Chain& chain = operators.front().chain_for_gradients();
    results = apply_all(operators, values, chain.token(values.front().device()));
    chain.advance(results.token);
  }
  std::vector<Vector> ys;
  for (std::size_t i = 0; i < xs.size(); ++i)
    ys.emplace_back(operators[i].range(), results.values[i], !recorded && xs[i].is_constant());
  return ys;
}

}  // namespace riesz
