// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/tile.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>

#include <limits>

namespace riesz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor positions(const Intervals& held, at::Device device) {
  std::vector<at::Tensor> runs;
  for (const Interval& run : held)
    runs.push_back(at::arange(run.begin, run.end, at::device(device).dtype(at::kLong)));
  return runs.empty() ? at::arange(0, at::device(device).dtype(at::kLong)) : at::cat(runs);
}

/// Query heads that share a key head as rows of that: of (B, heads, rows, …) as (B, key heads, m·rows, …).
at::Tensor by_key_head(const at::Tensor& x, std::int64_t key_heads) {
  if (x.size(1) == key_heads) return x;
  return x.reshape({x.size(0), key_heads, x.size(1) / key_heads * x.size(2), x.size(3)});
}

at::Tensor scores(const at::Tensor& q, const at::Tensor& k, const TileMask& sight) {
  at::Tensor s = grouped_product(q.mul(sight.scale), k.transpose(-2, -1));
  if (sight.bias.defined()) s = s.add(sight.bias);
  return sight.hidden.defined() ? s.masked_fill(sight.hidden, -kInfinity) : s;
}

/// exp(s − lse): zero where nothing is seen, though lse is −∞ there.
at::Tensor probabilities(const at::Tensor& s, const at::Tensor& lse) {
  return at::exp(s.sub(lse.masked_fill(lse.eq(-kInfinity), 0).unsqueeze(-1)));
}

/// May torch's fused kernel compute the tile?
bool fused(const at::Tensor& q, const TileMask& sight) {
  return q.is_cpu() && q.numel() > 0 && !sight.bias.defined() && !sight.hidden.defined() &&
         !sight.kept.defined();
}

}  // namespace

std::vector<Tile> tiles(const Intervals& rows, const Intervals& columns, bool causal, bool apart) {
  if (total(rows) == 0 || total(columns) == 0) return {};
  if (!causal && !apart) return {{{0, total(rows)}, {0, total(columns)}, rows, columns, true}};
  std::vector<Tile> all;
  std::int64_t row = 0;
  for (const Interval& i : rows) {
    std::int64_t column = 0;
    for (const Interval& j : columns) {
      const bool some = i.size() > 0 && j.size() > 0 && (!causal || j.begin < i.end);
      const bool whole = !causal || j.end <= i.begin + 1;
      if (some) all.push_back({{row, row + i.size()}, {column, column + j.size()}, {i}, {j}, whole});
      column += j.size();
    }
    row += i.size();
  }
  return all;
}

at::Tensor causal_mask(const Intervals& rows, const Intervals& columns, at::Device device) {
  return at::gt(positions(columns, device).unsqueeze(0), positions(rows, device).unsqueeze(1));
}

at::Tensor by_probability(const at::Tensor& mask) {
  if (mask.dim() == 2) return mask.unsqueeze(0).unsqueeze(0);
  return mask.dim() == 3 ? mask.unsqueeze(1) : mask;
}

at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor product = at::matmul(by_key_head(x, y.size(1)), y);
  return x.size(1) == y.size(1) ? product : product.view({x.size(0), x.size(1), x.size(2), y.size(3)});
}

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& sight) {
  if (fused(q, sight)) {
    auto [y, lse] =
        at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, sight.square, {}, sight.scale);
    return {y, lse};
  }
  const at::Tensor s = scores(q, k, sight);
  const at::Tensor lse = at::logsumexp(s, {-1});
  const at::Tensor p = probabilities(s, lse);
  return {grouped_product(sight.kept.defined() ? p.mul(sight.kept) : p, v), lse};
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
                        const RowGradients& rows, const TileMask& sight) {
  if (fused(q, sight)) {
    auto [qbar, kbar, vbar] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        rows.ybar, q, k, v, rows.y, rows.lse.contiguous(), 0, sight.square, {}, sight.scale);
    return {qbar, kbar, vbar, {}};
  }
  const at::Tensor p = probabilities(scores(q, k, sight), rows.lse);
  const auto summed_by_key_head = [&](const at::Tensor& x, const at::Tensor& y) {
    return at::matmul(by_key_head(x, k.size(1)).transpose(-2, -1), by_key_head(y, k.size(1)));
  };
  const at::Tensor vbar = summed_by_key_head(sight.kept.defined() ? p.mul(sight.kept) : p, rows.ybar);
  at::Tensor pbar = grouped_product(rows.ybar, v.transpose(-2, -1));
  if (sight.kept.defined()) pbar.mul_(sight.kept);
  const at::Tensor sbar = pbar.sub_(rows.dot.unsqueeze(-1)).mul_(p);
  return {grouped_product(sbar, k).mul_(sight.scale), summed_by_key_head(sbar, q).mul_(sight.scale), vbar,
          sbar};
}

}  // namespace riesz
