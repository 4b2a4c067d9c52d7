// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "plain_experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace riesz::plain {
namespace {

using Row = std::vector<double>;

std::vector<Row> rows_of(const at::Tensor& x) {
  std::vector<Row> rows;
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    rows.emplace_back();
    for (std::int64_t e = 0; e < x.size(1); ++e) rows.back().push_back(x[n][e].item<double>());
  }
  return rows;
}

/// Numbers 0 … n−1, the greatest value first, of equal ones the lower number.
std::vector<std::int64_t> ranked(const Row& values) {
  std::vector<std::int64_t> numbers(values.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::int64_t a, std::int64_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  return numbers;
}

void drop(const Gate& gate, const std::vector<Row>& scores, Gated& found) {
  const std::size_t tokens = found.choices.size();
  for (std::int64_t e = 0; e < static_cast<std::int64_t>(scores.front().size()); ++e) {
    std::vector<std::int64_t*> taken;  // in the order in which they come in
    Row theirs;
    const auto offer = [&](std::size_t n, std::size_t j) {
      if (found.choices[n][j] != e) return;
      taken.push_back(&found.choices[n][j]);
      theirs.push_back(scores[n][static_cast<std::size_t>(e)]);
    };
    const auto k = static_cast<std::size_t>(gate.k);
    if (gate.drop == "position") {
      for (std::size_t j = 0; j < k; ++j)
        for (std::size_t n = 0; n < tokens; ++n) offer(n, j);
    } else {
      for (std::size_t n = 0; n < tokens; ++n)
        for (std::size_t j = 0; j < k; ++j) offer(n, j);
    }
    std::vector<std::int64_t> order(taken.size());
    std::iota(order.begin(), order.end(), 0);
    if (gate.drop == "probability") order = ranked(theirs);
    for (std::size_t i = static_cast<std::size_t>(gate.capacity); i < order.size(); ++i)
      *taken[static_cast<std::size_t>(order[i])] = -1;
  }
}

/// The weights of a token's experts that are kept. Scores divided by their sum are the softmax of their
/// logarithms, whose gradient has no terms that cancel where one is kept alone.
at::Tensor of_kept(const Gate& gate, const at::Tensor& logits, const at::Tensor& scores,
                   const at::Tensor& kept) {
  if (!gate.renormalise) return scores.index_select(0, kept);
  const at::Tensor of = logits.index_select(0, kept);
  return (gate.sigmoid ? at::log_sigmoid(of) : of).softmax(0);
}

}  // namespace

Gated gated(const Gate& gate, const at::Tensor& logits) {
  const std::int64_t N = logits.size(0), E = logits.size(1);
  const auto score_of = [&](const at::Tensor& l) { return gate.sigmoid ? l.sigmoid() : l.softmax(-1); };
  const at::Tensor scores = score_of(logits);
  at::Tensor choice = gate.noise.defined() ? score_of(logits.detach() + gate.noise) : scores.detach();
  if (gate.bias.defined()) choice = choice + gate.bias;
  Gated found;
  for (const Row& row : rows_of(choice)) {
    std::vector<std::int64_t> best = ranked(row);
    best.resize(static_cast<std::size_t>(gate.k));
    found.choices.push_back(best);
  }
  at::Tensor first = at::zeros({E}, at::kDouble), all = at::zeros({E}, at::kDouble);
  for (const auto& mine : found.choices) {
    first[mine.front()].add_(1);
    for (const std::int64_t e : mine) all[e].add_(1);
  }
  if (gate.drop != "none") drop(gate, rows_of(scores.detach()), found);
  std::vector<at::Tensor> gates;
  std::int64_t dropped = 0;
  for (std::int64_t n = 0; n < N; ++n) {
    at::Tensor row = at::zeros({gate.k}, logits.options());
    std::vector<std::int64_t> kept, places;
    for (std::int64_t j = 0; j < gate.k; ++j) {
      const std::int64_t expert = found.choices[static_cast<std::size_t>(n)][static_cast<std::size_t>(j)];
      if (expert >= 0) kept.push_back(expert), places.push_back(j);
    }
    dropped += gate.k - static_cast<std::int64_t>(kept.size());
    if (!kept.empty())
      row = row.index_copy(0, at::tensor(places), of_kept(gate, logits[n], scores[n], at::tensor(kept)));
    gates.push_back(row * gate.scale);
  }
  found.gate_values = gates.empty() ? at::zeros({0, gate.k}, logits.options()) : at::stack(gates);
  const auto n = static_cast<double>(N);
  const at::Tensor p = gate.sigmoid ? scores / scores.sum(-1, true) : scores;
  const at::Tensor m = p.mean(0);
  found.loss = at::zeros({}, logits.options());
  const auto experts_of = static_cast<double>(E);
  if (gate.balance == "gshard") found.loss = found.loss + gate.balance_weight * (m * first / n).mean();
  if (gate.balance == "first")
    found.loss = found.loss + gate.balance_weight * experts_of * (m * first / n).sum();
  if (gate.balance == "all")
    found.loss =
        found.loss + gate.balance_weight * experts_of * (m * all / n).sum() / static_cast<double>(gate.k);
  found.loss = found.loss + gate.z_weight * logits.logsumexp(-1).square().mean();
  found.load = all / (n * static_cast<double>(gate.k));
  found.dropped = static_cast<double>(dropped) / (n * static_cast<double>(gate.k));
  found.entropy = -(p.detach() * p.detach().log()).sum(-1).mean().item<double>();
  return found;
}

namespace {

at::Tensor with_bias(const at::Tensor& y, const at::Tensor& bias) { return bias.defined() ? y + bias : y; }

}  // namespace

at::Tensor experts(const std::vector<Expert>& all, const at::Tensor& tokens, const Gated& routing) {
  std::vector<at::Tensor> results;
  for (std::int64_t n = 0; n < tokens.size(0); ++n) {
    at::Tensor y = at::zeros_like(tokens[n]);
    const auto& mine = routing.choices[static_cast<std::size_t>(n)];
    for (std::size_t j = 0; j < mine.size(); ++j) {
      if (mine[j] < 0) continue;
      const Expert& e = all[static_cast<std::size_t>(mine[j])];
      const at::Tensor up = with_bias(at::linear(tokens[n], e.up), e.up_bias);
      const at::Tensor inner = e.gate.defined() ? at::silu(at::linear(tokens[n], e.gate)) * up : at::silu(up);
      y = y + routing.gate_values[n][static_cast<std::int64_t>(j)] *
                  with_bias(at::linear(inner, e.down), e.down_bias);
    }
    results.push_back(y);
  }
  return at::stack(results);
}

}  // namespace riesz::plain
