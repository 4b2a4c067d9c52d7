// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/there.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>

#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/without_values.h"

namespace riesz::detail {
namespace {

using Tensors = std::vector<at::Tensor>;

std::optional<StoredAs> stored_as(at::ScalarType type) {
  if (type == at::kFloat) return StoredAs::float32;
  if (type == at::kDouble) return StoredAs::float64;
  if (type == at::kBFloat16) return StoredAs::bfloat16;
  if (type == at::kHalf) return StoredAs::float16;
  return std::nullopt;
}

/// Are the elements of x those of its last dims in y's order, again and again?
bool repeats_in(const at::Tensor& x, const at::Tensor& y) {
  at::IntArrayRef sizes = x.sizes();
  while (!sizes.empty() && sizes.front() == 1) sizes = sizes.slice(1);
  return sizes.size() <= static_cast<std::size_t>(y.dim()) &&
         y.sizes().slice(y.dim() - sizes.size()) == sizes;
}

bool lies_dense(const at::Tensor& x, at::ScalarType type) {
  return x.scalar_type() == type && x.is_contiguous() && !x.is_neg();
}

Launch launch_of(const Formula& formula, const char* which, at::Device device) {
  return found_launch(device.type(), (formula.kernels->name_there + std::string(which)).c_str(),
                      sizeof(FormulaArguments));
}

std::optional<FormulaArguments> arguments(const Formula& formula, const Tensors& inputs) {
  const at::Tensor& first = inputs[0];
  const std::optional<StoredAs> type = stored_as(first.scalar_type());
  if (!type || formula.kernels->bytes > FormulaArguments::kMostBytes ||
      inputs.size() > FormulaArguments::kMostInputs || first.numel() == 0 || !has_values())
    return std::nullopt;
  FormulaArguments all{};
  all.type = *type;
  const auto* const constants = static_cast<const unsigned char*>(formula.f.get());
  std::copy(constants, constants + formula.kernels->bytes, all.formula);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& x = inputs[i];
    if (!lies_dense(x, first.scalar_type()) || x.device() != first.device() || !repeats_in(x, first))
      return std::nullopt;
    all.in[i] = x.const_data_ptr();
    all.period[i] = x.numel();
  }
  return all;
}

}  // namespace

std::optional<at::Tensor> value_there(const Formula& formula, const Tensors& inputs) {
  const Launch function = launch_of(formula, ":value", inputs[0].device());
  if (function == nullptr) return std::nullopt;
  std::optional<FormulaArguments> all = arguments(formula, inputs);
  if (!all) return std::nullopt;
  at::Tensor y = at::empty(inputs[0].sizes(), inputs[0].options());
  all->out[0] = y.mutable_data_ptr();
  launch(y.device(), function, &*all, y.numel(), 1);
  return y;
}

std::optional<Tensors> gradients_there(const Formula& formula, const Tensors& inputs, const at::Tensor& ybar,
                                       const std::vector<bool>& wanted, bool reuse_ybar) {
  const at::Tensor& first = inputs[0];
  const Launch function = launch_of(formula, ":gradients", first.device());
  if (function == nullptr || !lies_dense(ybar, first.scalar_type()) || ybar.sizes() != first.sizes())
    return std::nullopt;
  std::optional<FormulaArguments> all = arguments(formula, inputs);
  if (!all) return std::nullopt;
  Tensors results(inputs.size());
  all->ybar = ybar.const_data_ptr();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    const bool spread = inputs[i].numel() != first.numel();
    const bool over = !spread && reuse_ybar;
    reuse_ybar = reuse_ybar && !over;
    all->wide[i] = spread;
    const at::ScalarType type = first.scalar_type() == at::kDouble ? at::kDouble
                                : spread                           ? at::kFloat
                                                                   : first.scalar_type();
    results[i] = over ? ybar : at::empty(first.sizes(), first.options().dtype(type));
    all->out[i] = results[i].mutable_data_ptr();
  }
  launch(first.device(), function, &*all, first.numel(), 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    const at::Tensor& x = inputs[i];
    results[i] =
        all->wide[i] ? at::sum_to(results[i], x.sizes()).to(x.scalar_type()) : results[i].view(x.sizes());
  }
  return results;
}

}  // namespace riesz::detail
