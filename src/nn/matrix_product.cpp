// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/matrix_product.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <optional>

// Exported by LibTorch, whose own at::mm calls it for half types; its header is not among those installed.
namespace at::native {
TORCH_API void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& c, float beta, float alpha);
}

namespace riesz {
namespace {

/// From so many operations on what oneDNN wins is more than the 15 µs that its call costs.
constexpr std::int64_t kLarge = std::int64_t{1} << 25;
/// A vector's product, or nearly one, is left to at::mm.
constexpr std::int64_t kNarrow = 32;

bool slow_without_onednn() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

bool by_onednn(const at::Tensor& a, const at::Tensor& b) {
  static const bool wanted = slow_without_onednn() && at::hasMKLDNN();
  const std::int64_t m = a.size(0);
  const std::int64_t k = a.size(1);
  const std::int64_t n = b.size(1);
  return wanted && a.is_cpu() && a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat &&
         std::min({m, k, n}) >= kNarrow && 2 * m * k * n >= kLarge && at::globalContext().userEnabledMkldnn();
}

/// rows · weightᵀ, of (m, k) and (n, k).
at::Tensor inner_product(const at::Tensor& rows, const at::Tensor& weight) {
  using Scalars = c10::List<std::optional<at::Scalar>>;
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                               c10::string_view, Scalars, std::optional<c10::string_view>);
  static const auto operation =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Signature>();
  return operation.call(rows, weight, std::nullopt, "none", Scalars(), "");
}

}  // namespace

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b) {
  if (!by_onednn(a, b)) return at::mm(a, b);
  if (a.is_contiguous() && b.is_contiguous()) return inner_product(a, b.t());
  at::Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  at::native::mkldnn_matmul(a, b, c, 0, 1);
  return c;
}

void add_matrix_product(const at::Tensor& a, const at::Tensor& b, at::Tensor& c) {
  if (by_onednn(a, b))
    at::native::mkldnn_matmul(a, b, c, 1, 1);
  else
    c.addmm_(a, b);
}

}  // namespace riesz
