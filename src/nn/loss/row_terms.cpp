// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/row_terms.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/nn/loss/exp_rows.h"
#include "riesz/nn/vectors/held_indices.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// (…, v) as (n, v), and (…) as (n, 1).
at::Tensor as_rows(const at::Tensor& x, std::int64_t n) { return x.contiguous().view({n, x.size(-1)}); }
at::Tensor as_column(const at::Tensor& of_rows) { return of_rows.reshape({-1, 1}); }

/// Of x and greatest.
class RowTermsNode final : public Node {
 public:
  RowTermsNode(HeldIndices targets, double smoothing, std::int64_t vocabulary)
      : column_(as_column(targets.local).to(at::kLong)),
        elsewhere_(as_column(targets.elsewhere)),
        of_target_(1 - smoothing),
        of_each_(smoothing / static_cast<double>(vocabulary)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    save(inputs);
    const at::Tensor &x = inputs[0], &greatest = inputs[1];
    const at::Tensor rows = as_rows(x, greatest.numel()), g = as_column(greatest);
    if (rows.numel() == 0) {
      const at::Tensor none = at::zeros(greatest.sizes(), greatest.options());
      return {none, at::zeros_like(none)};
    }
    const at::Tensor wanted = wanted_of(rows, g);
    const ExpSums sums = sums_of(rows, g);
    if (of_each_ != 0) wanted.add_(sums.shifted, of_each_);
    return {sums.sum.view(greatest.sizes()), wanted.view(greatest.sizes())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor of_sum = as_column(gradients[0]), of_wanted = as_column(gradients[1]);
    const at::Tensor rows = as_rows(inputs[0], of_sum.numel()), g = as_column(inputs[1]);
    const bool again = at::GradMode::is_enabled();
    const at::Tensor of_each = of_wanted.mul(of_each_);
    if (!again && is_exp_rows(rows)) {
      const at::Tensor xbar = scaled_exp(rows, g, of_sum, of_each);
      add_to_targets(of_wanted.contiguous(), xbar);
      return {xbar.view(inputs[0].sizes()), at::Tensor()};
    }
    at::Tensor xbar = at::exp(rows.sub(g)).mul(of_sum).add(of_each);
    if (rows.numel() > 0)
      xbar = xbar.scatter_add(1, column_, of_wanted.masked_fill(elsewhere_, 0).mul(of_target_));
    return {xbar.view(inputs[0].sizes()), at::Tensor()};
  }

 private:
  ExpSums sums_of(const at::Tensor& rows, const at::Tensor& g) const {
    if (is_exp_rows(rows)) return exp_sums(rows, g);
    const at::Tensor shifted = rows.sub(g);
    return {at::sum(at::exp(shifted), {1}, true), of_each_ == 0 ? at::Tensor() : at::sum(shifted, {1}, true)};
  }

  /// The share of the target itself. A call of torch for each step would take as long as the rows do, where
  /// these are short.
  at::Tensor wanted_of(const at::Tensor& rows, const at::Tensor& g) const {
    if (!is_exp_rows(rows))
      return at::gather(rows, 1, column_).sub_(g).masked_fill_(elsewhere_, 0).mul_(of_target_);
    const at::Tensor of_row = g.contiguous();
    at::Tensor wanted = at::empty(of_row.sizes(), of_row.options());
    const auto share = static_cast<float>(of_target_);
    const float* const x = rows.const_data_ptr<float>();
    const float* const greatest = of_row.const_data_ptr<float>();
    float* const result = wanted.mutable_data_ptr<float>();
    each_target(rows.size(1), [&](std::int64_t row, std::int64_t at, bool held) {
      result[row] = held ? share * (x[at] - greatest[row]) : 0.0F;
    });
    return wanted;
  }

  void add_to_targets(const at::Tensor& of_wanted, const at::Tensor& xbar) const {
    const auto share = static_cast<float>(of_target_);
    const float* const gradient = of_wanted.const_data_ptr<float>();
    float* const y = xbar.mutable_data_ptr<float>();
    each_target(xbar.size(1), [&](std::int64_t row, std::int64_t at, bool held) {
      if (held) y[at] += share * gradient[row];
    });
  }

  /// Calls `f` with each row's number, the place of its target among all of the rows' numbers, and whether
  /// this worker holds it.
  template <typename F>
  void each_target(std::int64_t width, const F& f) const {
    const at::Tensor columns = column_.contiguous(), elsewhere = elsewhere_.contiguous();
    const std::int64_t* const column = columns.const_data_ptr<std::int64_t>();
    const bool* const away = elsewhere.const_data_ptr<bool>();
    for (std::int64_t row = 0; row < columns.numel(); ++row) f(row, row * width + column[row], !away[row]);
  }

  at::Tensor column_, elsewhere_;
  double of_target_, of_each_;
};

}  // namespace

RowTerms row_terms(const at::Tensor& x, const at::Tensor& greatest, const WantedTargets& wanted,
                   const Intervals& held) {
  const auto node =
      std::make_shared<RowTermsNode>(held_indices(wanted.targets, held), wanted.smoothing, wanted.vocabulary);
  std::vector<at::Tensor> terms = record(node, {x, greatest});
  return {std::move(terms[0]), std::move(terms[1])};
}

}  // namespace riesz::detail
