// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/select_rows.h"

#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <tuple>
#include <utility>

#include "riesz/comm/operation.h"

namespace riesz::detail {
namespace {

/// x̄[n] = Σ ȳ of its places.
at::Tensor added(const at::Tensor& ybar, const SelectedRows& selected,
                 const std::vector<std::int64_t>& shape) {
  if (ybar.numel() == 0) return at::zeros(shape, ybar.options());
  const at::Tensor rows = ybar.reshape({ybar.size(0), -1});
  return std::get<0>(at::_embedding_bag_forward_only(rows, selected.places, selected.offsets)).view(shape);
}

class SelectRows final : public Primitive {
 public:
  SelectRows(const Space& X, const Space& S, int axis, std::shared_ptr<const SelectedRows> selected,
             bool back)
      : Primitive("SelectRows", X, S, {axis},
                  "(" + std::to_string(selected->digest) + (back ? ", back)" : ")")),
        selected_(std::move(selected)),
        back_(back) {}

  at::Tensor apply(const at::Tensor& x) const override {
    if (!domain().partition().active()) return x;
    return back_ ? added(x, *selected_, range().local_shape()) : x.index_select(0, selected_->rows);
  }

  Step adjoint() const override {
    return std::make_shared<SelectRows>(dual(range()), dual(domain()), axes().front(), selected_, !back_);
  }

  Traffic traffic(int) const override { return {}; }
  bool sends() const override { return false; }

 private:
  std::shared_ptr<const SelectedRows> selected_;
  bool back_;
};

}  // namespace

SelectedRows selected_rows(std::int64_t n, const std::vector<std::int64_t>& rows,
                           const std::vector<std::int64_t>& order, at::Device device) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1, 0);
  DigestBuilder digest;
  for (const std::int64_t row : rows) {
    ++offsets[static_cast<std::size_t>(row) + 1];
    digest.mix(static_cast<std::uint64_t>(row));
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(n); ++row) offsets[row + 1] += offsets[row];
  offsets.pop_back();
  const auto there = [&](const std::vector<std::int64_t>& numbers) {
    return at::tensor(numbers, at::kLong).to(device);
  };
  return {there(rows), there(order), there(offsets), digest.value()};
}

Step select_rows(const Space& X, const Space& S, const std::string& axis, SelectedRows selected) {
  const int a = X.partition().index(axis);
  return std::make_shared<SelectRows>(X, S, a, std::make_shared<const SelectedRows>(std::move(selected)),
                                      false);
}

}  // namespace riesz::detail
