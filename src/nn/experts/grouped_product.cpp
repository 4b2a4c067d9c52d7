// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/grouped_product.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <memory>
#include <utility>

#include "riesz/nn/contraction/matrix_product.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Calls f(i, first row) of each run.
template <typename Function>
void each_run(const std::vector<std::int64_t>& rows, const Function& f) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < rows.size(); begin += rows[i], ++i) f(i, begin);
}

class GroupedProductNode : public Node {
 public:
  explicit GroupedProductNode(std::vector<std::int64_t> rows) : rows_(std::move(rows)) {}

  Tensors forward(const Tensors& inputs) override {
    save(inputs);
    const at::Tensor& x = inputs.front();
    const at::Tensor y = at::empty({x.size(0), inputs[1].size(0)}, x.options());
    each_run(rows_, [&](std::size_t i, std::int64_t begin) {
      at::Tensor out = y.narrow(0, begin, rows_[i]);
      if (rows_[i] > 0) write_matrix_product({x.narrow(0, begin, rows_[i])}, {inputs[i + 1], true}, out);
    });
    return {y};
  }

  Tensors backward(Tensors gradients) override {
    const Tensors inputs = saved();
    const at::Tensor &x = inputs.front(), ybar = gradients.front();
    Tensors results(inputs.size());
    if (needs_gradient(0)) {
      Tensors transposed;
      for (std::size_t i = 1; i < inputs.size(); ++i) transposed.push_back(inputs[i].t());
      results[0] = grouped_product(ybar, transposed, rows_);
    }
    each_run(rows_, [&](std::size_t i, std::int64_t begin) {
      if (!needs_gradient(i + 1)) return;
      const at::Tensor of_y = ybar.narrow(0, begin, rows_[i]), of_x = x.narrow(0, begin, rows_[i]);
      const bool again = at::GradMode::is_enabled();  // it is to have a gradient itself
      results[i + 1] = again ? at::mm(of_y.t(), of_x) : matrix_product({of_y, true}, {of_x});
    });
    return results;
  }

 private:
  std::vector<std::int64_t> rows_;
};

}  // namespace

at::Tensor grouped_product(const at::Tensor& x, const Tensors& weights,
                           const std::vector<std::int64_t>& rows) {
  Tensors inputs{x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  return record(std::make_shared<GroupedProductNode>(rows), inputs).front();
}

}  // namespace riesz::detail
