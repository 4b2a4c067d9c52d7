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

at::Tensor scores(const at::Tensor& q, const at::Tensor& k, const TileMask& sight) {
  at::Tensor s = at::matmul(q.mul(sight.scale), k.transpose(-2, -1));
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

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& sight) {
  if (fused(q, sight)) {
    auto [y, lse] =
        at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, sight.square, {}, sight.scale);
    return {y, lse};
  }
  const at::Tensor s = scores(q, k, sight);
  const at::Tensor lse = at::logsumexp(s, {-1});
  const at::Tensor p = probabilities(s, lse);
  return {at::matmul(sight.kept.defined() ? p.mul(sight.kept) : p, v), lse};
}

void join(Attended& all, const Interval& rows, const Attended& more) {
  const at::Tensor y = all.y.narrow(2, rows.begin, rows.size());
  const at::Tensor lse = all.lse.narrow(2, rows.begin, rows.size());
  const at::Tensor joined = at::logaddexp(lse, more.lse);
  y.mul_(probabilities(lse.unsqueeze(-1), joined));
  y.add_(more.y.mul(probabilities(more.lse.unsqueeze(-1), joined)));
  lse.copy_(joined);
}

TileGradients pull_back(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RowGradients& rows,
                        const TileMask& sight) {
  if (fused(q, sight)) {
    auto [qbar, kbar, vbar] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        rows.ybar, q, k, v, rows.y, rows.lse.contiguous(), 0, sight.square, {}, sight.scale);
    return {qbar, kbar, vbar, {}};
  }
  const at::Tensor p = probabilities(scores(q, k, sight), rows.lse);
  const at::Tensor vbar =
      at::matmul((sight.kept.defined() ? p.mul(sight.kept) : p).transpose(-2, -1), rows.ybar);
  at::Tensor pbar = at::matmul(rows.ybar, v.transpose(-2, -1));
  if (sight.kept.defined()) pbar.mul_(sight.kept);
  const at::Tensor sbar = pbar.sub_(rows.dot.unsqueeze(-1)).mul_(p);
  return {at::matmul(sbar, k).mul_(sight.scale), at::matmul(sbar.transpose(-2, -1), q).mul_(sight.scale),
          vbar, sbar};
}

}  // namespace riesz
