// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/ring_attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/step.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

constexpr int kHeads = 3;  // of K and V packed

/// All of one call that its backward needs beside tensors.
struct RingCall {
  std::shared_ptr<const PreparedAttention> prepared;
  Visibility visibility;
  double scale;
  const Dropout* dropout;           // only in forward
  bool recorded;                    // will it go back?
  std::vector<DropoutDraws> draws;  // then, by tile, in the order computed

  const Ring& ring() const { return *prepared->ring; }
};

/// (B, T, heads, d) → (B, heads, T, d), as it is added up, a head's numbers next to each other.
at::Tensor by_head(const at::Tensor& x) {
  const at::Tensor heads = x.transpose(1, 2).to(accumulation_type(x.scalar_type()));
  return heads.stride(-1) == 1 ? heads : heads.contiguous();
}

at::Tensor of_rows(const at::Tensor& x, const Interval& rows) { return x.narrow(2, rows.begin, rows.size()); }

/// y lies in memory as q's vector does.
Attended nothing_yet(const at::Tensor& q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor y = at::zeros({q.size(0), q.size(2), q.size(1), q.size(3)}, q.options());
  return {y.transpose(1, 2), at::full({q.size(0), q.size(1), q.size(2)}, -infinity, q.options())};
}

void attend_step(RingCall& round, int step, const at::Tensor& q, const at::Tensor& kv,
                 const RingOperands& given, Attended& all) {
  const AttentionStep here(*round.prepared, step, round.visibility, given.mask, given.seen);
  if (here.tiles().empty()) return;
  const at::Tensor used = round.prepared->key_heads.used(kv, kHeads);
  const at::Tensor k = by_head(used.select(0, 0));
  const at::Tensor v = by_head(used.select(0, 1));
  for (const Tile& tile : here.tiles()) {
    TileMask acts = here.mask(tile, q, round.scale, round.dropout == nullptr);
    if (round.dropout != nullptr) {
      acts.draws = here.draws(*round.dropout, tile);
      if (round.recorded) round.draws.push_back(*acts.draws);
    }
    join(all, tile.rows,
         attend(of_rows(q, tile.rows), of_rows(k, tile.columns), of_rows(v, tile.columns), acts));
  }
}

/// y and lse of q's rows; K and V go round once. Without gradient.
Attended attend_around(RingCall& round, const RingOperands& given) {
  const Ring& ring = round.ring();
  const bool here = ring.queries().partition().active();
  const at::Tensor q = here ? by_head(given.q) : given.q;
  Attended all = here ? nothing_yet(q) : Attended{q, q};
  Vector kv(ring.at(0), given.kv);
  for (int step = 0; step < ring.steps(); ++step) {
    std::optional<Pending> next;
    if (step + 1 < ring.steps()) next = ring.hop(step).start(kv);
    if (here) attend_step(round, step, q, kv.local(), given, all);
    if (next) kv = next->wait();
  }
  return all;
}

/// Gradients by the operands, as they are added up; the mask's undefined unless it is added.
struct RingGradients {
  at::Tensor q;
  at::Tensor kv;
  at::Tensor mask;
};

/// Of one step: adds to those of q, (B, heads, T, d), and mask, and gives those of the piece of K and V that
/// is here.
at::Tensor pull_back_step(const RingCall& round, int step, const at::Tensor& q, const at::Tensor& kv,
                          const RingOperands& given, const RowGradients& all, std::size_t& drawn,
                          RingGradients& sums) {
  const AttentionStep here(*round.prepared, step, round.visibility, given.mask, given.seen);
  const at::Tensor used = round.prepared->key_heads.used(kv, kHeads);
  const at::Tensor k = by_head(used.select(0, 0));
  const at::Tensor v = by_head(used.select(0, 1));
  const at::Tensor kvbar = at::zeros(kv.sizes(), q.options());
  const at::Tensor usedbar = round.prepared->key_heads.used(kvbar, kHeads);
  for (const Tile& tile : here.tiles()) {
    TileMask acts = here.mask(tile, q, round.scale, round.draws.empty());
    if (!round.draws.empty()) acts.draws = round.draws[drawn++];
    const RowGradients rows{of_rows(all.y, tile.rows), of_rows(all.lse, tile.rows),
                            of_rows(all.ybar, tile.rows), of_rows(all.dot, tile.rows)};
    const TileGradients bar =
        pull_back(of_rows(q, tile.rows), of_rows(k, tile.columns), of_rows(v, tile.columns), rows, acts);
    of_rows(sums.q, tile.rows).add_(bar.q);
    of_rows(usedbar.select(0, 0).transpose(1, 2), tile.columns).add_(bar.k);
    of_rows(usedbar.select(0, 1).transpose(1, 2), tile.columns).add_(bar.v);
    if (sums.mask.defined()) {
      const at::Tensor part = AttentionStep::part(sums.mask, tile);
      part.add_(bar.bias.sum_to_size(part.sizes()));
    }
  }
  round.prepared->key_heads.add_used(kvbar, kHeads, usedbar);
  return kvbar;
}

RowGradients row_gradients(const Attended& all, const at::Tensor& ybar) {
  const at::Tensor by_rows = by_head(ybar);
  return {all.y, all.lse, by_rows, by_rows.mul(all.y).sum({-1})};
}

/// K and V go round again, and p hops take their gradients past all workers and home.
RingGradients pull_back_around(const RingCall& round, const RingOperands& given, const Attended& all,
                               const at::Tensor& ybar) {
  const Ring& ring = round.ring();
  const bool here = ring.queries().partition().active();
  const at::Tensor q = here ? by_head(given.q) : given.q;
  const RowGradients rows = here ? row_gradients(all, ybar) : RowGradients{};
  const bool added = given.mask.defined() && given.mask.is_floating_point();
  RingGradients sums{
      at::zeros_like(q), {}, added ? at::zeros(given.mask.sizes(), q.options()) : at::Tensor()};
  std::size_t drawn = 0;
  Vector kv(ring.at(0), given.kv);
  std::optional<Pending> travelling;
  for (int step = 0; step < ring.steps(); ++step) {
    std::optional<Pending> next;
    if (step + 1 < ring.steps()) next = ring.hop(step).start(kv);
    at::Tensor kvbar = kv.local();
    if (here) kvbar = pull_back_step(round, step, q, kv.local(), given, rows, drawn, sums);
    if (travelling) kvbar = kvbar.add(travelling->wait().local());
    travelling = ring.gradient_hop(step).start(Vector(dual(ring.at(step)), kvbar));
    if (next) kv = next->wait();
  }
  sums.kv = travelling->wait().local();
  if (here) sums.q = sums.q.transpose(1, 2);
  return {sums.q.to(given.q.scalar_type()), sums.kv.to(given.kv.scalar_type()),
          added ? sums.mask.to(given.mask.scalar_type()) : sums.mask};
}

at::Tensor in_order(const Ring& ring, const at::Tensor& y, const at::Tensor& q) {
  return ring.queries().partition().active() ? y.transpose(1, 2).to(q.scalar_type())
                                             : at::empty({0}, q.options());
}

/// It saves its operands, its result and the log-sum-exp of its rows, and neither scores nor others' K and V.
class RingNode : public Node {
 public:
  explicit RingNode(std::shared_ptr<RingCall> round) : round_(std::move(round)) {}

  /// Of q, k and v, the mask and what is seen if there are such, and the token.
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor &q = inputs[0], &kv = inputs[1], &mask = inputs[2], &seen = inputs[3];
    const Attended all = attend_around(*round_, {q, kv, mask, seen});
    round_->dropout = nullptr;
    save({q, kv, mask, seen, all.y, all.lse});
    return {in_order(round_->ring(), all.y, q), at::empty({0}, inputs[4].options())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const RingCall& round = *round_;
    RIESZ_CHECK(!at::GradMode::is_enabled(),
                "ring attention has no second derivatives, but they are asked for, in\n  ",
                to_string(round.ring().queries()),
                "\ngather K and V instead: bring them with between(X, Y) to be Copied "
                "on the axis that shards the sequence");
    const std::vector<at::Tensor> kept = saved();
    const RingGradients bar =
        pull_back_around(round, {kept[0], kept[1], kept[2], kept[3]}, {kept[4], kept[5]}, gradients[0]);
    return {bar.q, bar.kv, bar.mask, {}, gradients[1]};
  }

 private:
  std::shared_ptr<RingCall> round_;
};

}  // namespace

at::Tensor ring_attention(std::shared_ptr<const PreparedAttention> prepared, const RingOperands& operands,
                          const Visibility& visibility, double scale, const Dropout* dropout) {
  const auto& [q, kv, mask, seen, constant] = operands;
  const Ring& ring = *prepared->ring;
  const Operator& hop = ring.hop(0);
  const bool recorded =
      !constant && (hop.recorded(q) || hop.recorded(kv) || (mask.defined() && hop.recorded(mask)));
  auto round =
      std::make_shared<RingCall>(RingCall{std::move(prepared), visibility, scale, dropout, recorded, {}});
  if (!recorded) {
    const at::NoGradGuard no_gradient;
    return in_order(ring, attend_around(*round, operands).y, q);
  }
  Chain& chain = hop.chain_for_gradients();
  const std::vector<at::Tensor> results =
      record(std::make_shared<RingNode>(std::move(round)), {q, kv, mask, seen, chain.token(q.device())});
  chain.advance(results[1]);
  return results[0];
}

}  // namespace riesz::detail
