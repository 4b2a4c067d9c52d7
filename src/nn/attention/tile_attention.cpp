// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/tile_attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "riesz/nn/attention/row_blocks.h"
#include "riesz/nn/attention/score_bound.h"
#include "riesz/nn/random/dropped.h"

namespace riesz::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Query heads that share a key head as rows of that: of (B, heads, rows, …) as (B, key heads, m·rows, …).
at::Tensor by_key_head(const at::Tensor& x, std::int64_t key_heads) {
  if (x.size(1) == key_heads) return x;
  return x.reshape({x.size(0), key_heads, x.size(1) / key_heads * x.size(2), x.size(3)});
}

/// exp(s − lse): zero where nothing is seen, though lse is −∞ there.
at::Tensor probabilities(const at::Tensor& s, const at::Tensor& lse) {
  return at::exp(s.sub(lse.masked_fill(lse.eq(-kInfinity), 0).unsqueeze(-1)));
}

/// How a tile is computed on a CPU.
enum class Way { fused, by_row_blocks, by_operators };

/// torch's fused kernel takes no bias, no positions that are seen each by itself, no dropout, and finite
/// scores alone.
Way way_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask) {
  const bool ours = takes_row_blocks(q, k, v, mask);
  const bool suits = q.numel() > 0 && !mask.bias.defined() && !mask.seen.defined() && !mask.draws;
  if (suits && !(ours && is_fast_by_row_blocks(q, k)) && surely_finite(q, k, mask)) return Way::fused;
  return ours ? Way::by_row_blocks : Way::by_operators;
}

/// Booleans of (1 or B, 1, rows): which rows see no column of a tile, of which nothing but `keys` and a
/// corner hides any.
at::Tensor blind(const at::Tensor& keys, std::int64_t rows, bool corner) {
  if (!corner) return keys.any(-1).logical_not();
  const at::Tensor last =
      at::arange(rows, at::device(keys.device()).dtype(at::kLong)).clamp_max(keys.size(3) - 1);
  return keys.cumsum(-1).index_select(3, last).eq(0).squeeze(2);
}

Attended attend_by_operators(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const TileMask& mask) {
  const at::Tensor s = masked_scores(q, k, mask);
  const at::Tensor lse = at::logsumexp(s, {-1});
  lse.masked_fill_(lse.eq(kInfinity), std::numeric_limits<double>::quiet_NaN());  // as torch's softmax
  const at::Tensor p = probabilities(s, lse);
  return {grouped_product(mask.draws ? dropped(p, *mask.draws) : p, v), lse};
}

Attended attend_in_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const TileMask& mask) {
  const Way way = way_of(q, k, v, mask);
  if (way == Way::by_row_blocks) return attend_by_row_blocks(q, k, v, mask);
  if (way == Way::by_operators) return attend_by_operators(q, k, v, mask);
  auto [y, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, mask.corner,
                                                                  added_for(mask.keys, q), mask.scale);
  // Of a row that sees nothing the kernel says 0.
  if (mask.keys.defined()) lse.masked_fill_(blind(mask.keys, q.size(2), mask.corner), -kInfinity);
  return {y, lse};
}

TileGradients pull_back_by_operators(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const RowGradients& rows, const TileMask& mask) {
  const at::Tensor p = probabilities(masked_scores(q, k, mask), rows.lse);
  const at::Tensor vbar = product_by_key_head(mask.draws ? dropped(p, *mask.draws) : p, rows.ybar, k.size(1));
  at::Tensor pbar = grouped_product(rows.ybar, v.transpose(-2, -1));
  if (mask.draws) pbar = dropped(pbar, *mask.draws);
  const at::Tensor sbar = pbar.sub_(rows.dot.unsqueeze(-1)).mul_(p);
  return {grouped_product(sbar, k).mul_(mask.scale), product_by_key_head(sbar, q, k.size(1)).mul_(mask.scale),
          vbar, sbar};
}

TileGradients pull_back_in_memory(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const RowGradients& rows, const TileMask& mask) {
  const Way way = way_of(q, k, v, mask);
  if (way == Way::by_row_blocks) return pull_back_by_row_blocks(q, k, v, rows, mask);
  if (way == Way::by_operators) return pull_back_by_operators(q, k, v, rows, mask);
  at::Tensor lse = rows.lse.contiguous();
  if (mask.keys.defined()) lse = lse.masked_fill(lse.eq(-kInfinity), 0);
  auto [qbar, kbar, vbar] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      rows.ybar, q, k, v, rows.y, lse, 0, mask.corner, added_for(mask.keys, q), mask.scale);
  return {qbar, kbar, vbar, {}};
}

}  // namespace

Dispatched<Attended(const at::Tensor&, const at::Tensor&, const at::Tensor&, const TileMask&)> attend_kernels{
    attend_in_memory, attend_by_operators};
Dispatched<TileGradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const RowGradients&,
                         const TileMask&)>
    pull_back_kernels{pull_back_in_memory, pull_back_by_operators};

std::optional<at::Tensor> added_for(const at::Tensor& keys, const at::Tensor& q) {
  if (!keys.defined()) return std::nullopt;
  return at::zeros(keys.sizes(), q.options().requires_grad(false))
      .masked_fill_(keys.logical_not(), -kInfinity);
}

at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor product = at::matmul(by_key_head(x, y.size(1)), y);
  return x.size(1) == y.size(1) ? product : product.view({x.size(0), x.size(1), x.size(2), y.size(3)});
}

at::Tensor product_by_key_head(const at::Tensor& x, const at::Tensor& y, std::int64_t key_heads) {
  return at::matmul(by_key_head(x, key_heads).transpose(-2, -1), by_key_head(y, key_heads));
}

at::Tensor lower_corner(const at::Tensor& q, const at::Tensor& k) {
  return at::ones({q.size(2), k.size(2)}, q.options().dtype(at::kBool).requires_grad(false)).tril_();
}

at::Tensor masked_scores(const at::Tensor& q, const at::Tensor& k, const TileMask& mask) {
  at::Tensor s = grouped_product(q.mul(mask.scale), k.transpose(-2, -1));
  if (mask.bias.defined()) s = s.add(mask.bias);
  if (mask.keys.defined()) s = at::where(mask.keys, s, -kInfinity);
  if (mask.corner) s = at::where(lower_corner(q, k), s, -kInfinity);
  return mask.seen.defined() ? at::where(mask.seen, s, -kInfinity) : s;
}

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask) {
  return attend_kernels(q.device(), q, k, v, mask);
}

void join(Attended& all, const Interval& rows, const Attended& more) {
  const at::Tensor y = all.y.narrow(2, rows.begin, rows.size());
  const at::Tensor lse = all.lse.narrow(2, rows.begin, rows.size());
  const at::Tensor joined = at::logaddexp(lse, more.lse);
  y.mul_(probabilities(lse.unsqueeze(-1), joined));
  y.add_(more.y.mul(probabilities(more.lse.unsqueeze(-1), joined)));
  lse.copy_(joined);
}

TileGradients pull_back(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const RowGradients& rows, const TileMask& mask) {
  return pull_back_kernels(q.device(), q, k, v, rows, mask);
}

}  // namespace riesz::detail
