// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/without_values/shape_rules.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <ATen/ops/promote_types.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace riesz {
namespace {

using torch::jit::Stack;
using Sizes = std::vector<std::int64_t>;

at::Tensor made(const Sizes& sizes, at::ScalarType type) { return at::detail::empty_cpu(sizes, type); }
/// Dense, its dims in memory in the order of x, as at::empty_like.
at::Tensor made_like(const at::Tensor& x) {
  return at::detail::empty_strided_cpu(x.sizes(), at::infer_dense_strides(x.sizes(), x.strides()),
                                       x.scalar_type());
}

const c10::IValue& argument(const Stack& stack, std::size_t arguments, std::size_t i) {
  return stack[stack.size() - arguments + i];
}
at::Tensor tensor(const Stack& stack, std::size_t arguments, std::size_t i) {
  return argument(stack, arguments, i).toTensor();
}

void give(Stack* stack, std::size_t arguments, std::vector<c10::IValue> results) {
  stack->erase(stack->end() - static_cast<std::ptrdiff_t>(arguments), stack->end());
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

void dot(Stack* stack, std::size_t n) { give(stack, n, {made({}, tensor(*stack, n, 0).scalar_type())}); }

void equal(Stack* stack, std::size_t n) { give(stack, n, {true}); }

void index_select(Stack* stack, std::size_t n) {
  const at::Tensor x = tensor(*stack, n, 0), index = tensor(*stack, n, 2);
  Sizes sizes = x.sizes().vec();
  if (!sizes.empty())
    sizes[static_cast<std::size_t>(c10::maybe_wrap_dim(argument(*stack, n, 1).toInt(), x.dim()))] =
        index.numel();
  give(stack, n, {made(sizes, x.scalar_type())});
}

void embedding_backward(Stack* stack, std::size_t n) {
  const at::Tensor gradient = tensor(*stack, n, 0);
  give(stack, n, {made({argument(*stack, n, 2).toInt(), gradient.size(-1)}, gradient.scalar_type())});
}

/// Sums of rows, one for each offset; what comes with them is for another backward.
void embedding_bag(Stack* stack, std::size_t n) {
  const at::Tensor rows = tensor(*stack, n, 0), offsets = tensor(*stack, n, 2);
  const at::Tensor none = made({0}, at::kLong);
  give(stack, n, {made({offsets.numel(), rows.size(1)}, rows.scalar_type()), none, none, none});
}

void where(Stack* stack, std::size_t n) {
  const at::Tensor a = tensor(*stack, n, 1), b = tensor(*stack, n, 2);
  const Sizes both = at::infer_size(a.sizes(), b.sizes());
  give(stack, n,
       {made(at::infer_size(both, tensor(*stack, n, 0).sizes()),
             at::promote_types(a.scalar_type(), b.scalar_type()))});
}

void like_the_first(Stack* stack, std::size_t n) { give(stack, n, {made_like(tensor(*stack, n, 0))}); }

/// Into its last argument.
template <std::size_t kOperands>
void pointwise_out(Stack* stack, std::size_t n) {
  const at::Tensor out = tensor(*stack, n, n - 1);
  Sizes sizes = tensor(*stack, n, 0).sizes().vec();
  for (std::size_t i = 1; i < kOperands; ++i) sizes = at::infer_size(sizes, tensor(*stack, n, i).sizes());
  if (out.sizes() != at::IntArrayRef(sizes)) out.resize_(sizes);
  give(stack, n, {out});
}

/// Rows before heads in memory.
at::Tensor rows_first(const at::Tensor& x, std::int64_t width) {
  return made({x.size(0), x.size(2), x.size(1), width}, x.scalar_type()).transpose(1, 2);
}

void attention(Stack* stack, std::size_t n) {
  const at::Tensor q = tensor(*stack, n, 0), v = tensor(*stack, n, 2);
  const at::ScalarType sums = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  give(stack, n,
       {q.size(3) == v.size(3) ? made_like(q) : rows_first(q, v.size(3)),
        made({q.size(0), q.size(2), q.size(1)}, sums).transpose(1, 2)});
}

void attention_backward(Stack* stack, std::size_t n) {
  std::vector<c10::IValue> gradients;
  for (std::size_t i = 1; i <= 3; ++i) {
    const at::Tensor x = tensor(*stack, n, i);
    gradients.emplace_back(rows_first(x, x.size(3)));
  }
  give(stack, n, std::move(gradients));
}

/// With the mean and the reciprocal deviation of each row.
void layer_norm(Stack* stack, std::size_t n) {
  const at::Tensor x = tensor(*stack, n, 0);
  Sizes rows = x.sizes().vec();
  const std::size_t normal = argument(*stack, n, 1).toIntVector().size();
  std::fill(rows.end() - static_cast<std::ptrdiff_t>(normal), rows.end(), 1);
  give(stack, n,
       {made(x.sizes().vec(), x.scalar_type()), made(rows, x.scalar_type()), made(rows, x.scalar_type())});
}

/// Of x, its weight and its bias.
void layer_norm_backward(Stack* stack, std::size_t n) {
  std::vector<c10::IValue> gradients{made_like(tensor(*stack, n, 1))};
  for (const std::size_t i : {5, 6}) {
    const c10::IValue& given = argument(*stack, n, i);
    gradients.emplace_back(given.isTensor() ? made_like(given.toTensor()) : at::Tensor());
  }
  give(stack, n, std::move(gradients));
}

/// Of x and w, by stride, padding, dilation, and where it is transposed by the padding of y and the groups.
void convolution(Stack* stack, std::size_t n) {
  const at::Tensor x = tensor(*stack, n, 0), w = tensor(*stack, n, 1);
  const auto list = [&](std::size_t i, std::int64_t dim) {
    const auto numbers = argument(*stack, n, i).toIntVector();
    return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(dim)];
  };
  const bool transposed = argument(*stack, n, 6).toBool();
  Sizes sizes{x.size(0), transposed ? w.size(1) * argument(*stack, n, 8).toInt() : w.size(0)};
  for (std::int64_t dim = 0; dim + 2 < x.dim(); ++dim) {
    const std::int64_t stride = list(3, dim), reach = list(5, dim) * (w.size(dim + 2) - 1) - 2 * list(4, dim);
    sizes.push_back(transposed ? (x.size(dim + 2) - 1) * stride + reach + list(7, dim) + 1
                               : (x.size(dim + 2) - reach - 1) / stride + 1);
  }
  give(stack, n, {made(sizes, x.scalar_type())});
}

/// Of x, the weight and the bias, where they are wanted.
void convolution_backward(Stack* stack, std::size_t n) {
  const at::Tensor gradient = tensor(*stack, n, 0);
  const auto wanted = argument(*stack, n, n - 1).toBoolList();
  std::vector<c10::IValue> gradients;
  for (const std::size_t i : {0, 1})
    gradients.emplace_back(
        wanted.get(i) ? made(tensor(*stack, n, i + 1).sizes().vec(), gradient.scalar_type()) : at::Tensor());
  gradients.emplace_back(wanted.get(2) ? made({gradient.size(1)}, gradient.scalar_type()) : at::Tensor());
  give(stack, n, std::move(gradients));
}

/// A Fourier transform: along the last of its dims it has another extent where it begins or ends with real
/// values.
Sizes with_last(const Stack& stack, std::size_t n, std::int64_t extent) {
  const at::Tensor x = tensor(stack, n, 0);
  Sizes sizes = x.sizes().vec();
  const auto dims = argument(stack, n, 1).toIntVector();
  if (!dims.empty()) sizes[static_cast<std::size_t>(c10::maybe_wrap_dim(dims.back(), x.dim()))] = extent;
  return sizes;
}

void fft_of_real(Stack* stack, std::size_t n) {
  const at::Tensor x = tensor(*stack, n, 0);
  const std::int64_t values = x.size(argument(*stack, n, 1).toIntVector().back());
  const bool half = argument(*stack, n, 3).toBool();
  give(stack, n,
       {made(with_last(*stack, n, half ? values / 2 + 1 : values), c10::toComplexType(x.scalar_type()))});
}

void fft_to_real(Stack* stack, std::size_t n) {
  const at::ScalarType type = c10::toRealValueType(tensor(*stack, n, 0).scalar_type());
  give(stack, n, {made(with_last(*stack, n, argument(*stack, n, 3).toInt()), type)});
}

}  // namespace

ShapeRule shape_rule(const c10::FunctionSchema& schema) {
  static const std::map<std::pair<std::string, std::string>, ShapeRule> rules{
      {{"aten::dot", ""}, dot},
      {{"aten::equal", ""}, equal},
      {{"aten::index_select", ""}, index_select},
      {{"aten::embedding_dense_backward", ""}, embedding_backward},
      {{"aten::_embedding_bag_forward_only", ""}, embedding_bag},
      {{"aten::convolution", ""}, convolution},
      {{"aten::convolution_backward", ""}, convolution_backward},
      {{"aten::_fft_r2c", ""}, fft_of_real},
      {{"aten::_fft_c2r", ""}, fft_to_real},
      {{"aten::_fft_c2c", ""}, like_the_first},
      {{"aten::where", "self"}, where},
      {{"aten::where", "self_out"}, pointwise_out<3>},
      {{"aten::relu", ""}, like_the_first},
      {{"aten::flip", ""}, like_the_first},
      {{"aten::abs", "out"}, pointwise_out<1>},
      {{"aten::logical_and", "out"}, pointwise_out<2>},
      {{"aten::logical_or", "out"}, pointwise_out<2>},
      {{"aten::logical_not", "out"}, pointwise_out<1>},
      {{"aten::_scaled_dot_product_flash_attention_for_cpu", ""}, attention},
      {{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", ""}, attention_backward},
      {{"aten::native_layer_norm", ""}, layer_norm},
      {{"aten::native_layer_norm_backward", ""}, layer_norm_backward},
  };
  const auto found = rules.find({schema.name(), schema.overload_name()});
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace riesz
