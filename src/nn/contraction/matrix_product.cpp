// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/matrix_product.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>
#include <optional>

#include "riesz/nn/contraction/row_product.h"
#include "riesz/nn/vectors/plain_floats.h"

// Exported by LibTorch, whose own at::mm calls it for half types; its header is not among those installed.
namespace at::native {
TORCH_API void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& c, float beta, float alpha);
}

namespace riesz::detail {
namespace {

/// From so many operations on what oneDNN wins is more than the 15 µs that its call costs.
constexpr std::int64_t kLarge = std::int64_t{1} << 25;
/// A vector's product, or nearly one, is left to at::mm.
constexpr std::int64_t kNarrow = 32;

bool slow_without_onednn() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

bool by_onednn(const at::Tensor& a, const at::Tensor& b) {
  static const bool wanted = slow_without_onednn() && at::hasMKLDNN();
  const std::int64_t m = a.size(0);
  const std::int64_t k = a.size(1);
  const std::int64_t n = b.size(1);
  return wanted && plain_floats(a) && plain_floats(b) && std::min({m, k, n}) >= kNarrow &&
         2 * m * k * n >= kLarge && at::globalContext().userEnabledMkldnn();
}

/// oneDNN's kernels differ by strides, in speed too.
Factor in_rows(const Factor& x) { return {x.stored.contiguous(), x.transposed}; }

/// rows · weightᵀ, of (m, k) and (n, k).
at::Tensor inner_product(const at::Tensor& rows, const at::Tensor& weight) {
  using Scalars = c10::List<std::optional<at::Scalar>>;
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                               c10::string_view, Scalars, std::optional<c10::string_view>);
  static const auto operation =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Signature>();
  return operation.call(rows, weight, std::nullopt, "none", Scalars(), "");
}

std::optional<at::Tensor> of_one_row(const at::Tensor& a, const at::Tensor& b) {
  if (a.size(0) != 1) return {};
  const std::array shape{std::int64_t{1}, b.size(1)};
  if (is_row_product(a, b)) return row_product(a, b, Weights::in_columns, shape);
  if (is_row_product(a, b.t())) return row_product(a, b.t(), Weights::in_rows, shape);
  return {};
}

}  // namespace

at::Tensor matrix_product(const Factor& a, const Factor& b) {
  const at::Tensor given = a.matrix(), by = b.matrix();
  if (const std::optional<at::Tensor> row = of_one_row(given, by)) return *row;
  if (!by_onednn(given, by)) return at::mm(given, by);
  const at::Tensor left = in_rows(a).matrix();
  const at::Tensor right = in_rows(b).matrix();
  if (!has_values()) return at::mm(left, right);
  if (!a.transposed && !b.transposed) return inner_product(left, right.t());
  at::Tensor c = at::empty({left.size(0), right.size(1)}, left.options());
  at::native::mkldnn_matmul(left, right, c, 0, 1);
  return c;
}

void write_matrix_product(const Factor& a, const Factor& b, at::Tensor& c) {
  const at::Tensor given = a.matrix(), by = b.matrix();
  if (const std::optional<at::Tensor> row = of_one_row(given, by))
    c.copy_(*row);
  else if (by_onednn(given, by) && has_values())
    at::native::mkldnn_matmul(in_rows(a).matrix(), in_rows(b).matrix(), c, 0, 1);
  else
    at::mm_out(c, given, by);
}

void add_matrix_product(const Factor& a, const Factor& b, at::Tensor& c) {
  if (by_onednn(a.matrix(), b.matrix()) && has_values())
    at::native::mkldnn_matmul(in_rows(a).matrix(), in_rows(b).matrix(), c, 1, 1);
  else
    c.addmm_(a.matrix(), b.matrix());
}

}  // namespace riesz::detail
