// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/turned.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/resolved.h"
#include "riesz/nn/attention/row_turns.h"
#include "riesz/nn/vectors/held_once.h"
#include "riesz/nn/vectors/plain_floats.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

at::Tensor turned_by_operators(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs) {
  const auto& [cosine, sine] = turns;
  const at::Tensor all = x.to(cosine.scalar_type());
  const std::int64_t half = cosine.size(-1), rest = x.size(-1) - 2 * half;
  const int pair = pairs == RotaryPairs::neighbours ? -1 : -2;
  const at::Tensor together = all.narrow(-1, 0, 2 * half)
                                  .unflatten(-1, pair == -1 ? std::vector<std::int64_t>{half, 2}
                                                            : std::vector<std::int64_t>{2, half});
  const at::Tensor a = together.select(pair, 0);
  const at::Tensor b = together.select(pair, 1);
  const at::Tensor turned =
      at::stack({a.mul(cosine).sub(b.mul(sine)), b.mul(cosine).add(a.mul(sine))}, pair).flatten(-2);
  const at::Tensor y = rest == 0 ? turned : at::cat({turned, all.narrow(-1, 2 * half, rest)}, -1);
  return y.to(x.scalar_type());
}

/// With `over` in x's memory, where its rows lie one after another there.
at::Tensor turned_rows(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
                       bool over) {
  const at::Tensor all = x.contiguous();
  at::Tensor y = over && all.is_same(x) ? x.variable_data() : at::empty(all.sizes(), all.options());
  if (has_values()) turn_rows(all, turns, pairs, way, y);
  return y;
}

at::Tensor turned_by_rows(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs, Turning way);

/// A rotation: its adjoint turns back.
class TurnedNode final : public Node {
 public:
  TurnedNode(RotaryTurns turns, RotaryPairs pairs, Turning way, bool over)
      : turns_(std::move(turns)), pairs_(pairs), way_(way), over_(over) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    return {turned_rows(inputs[0], turns_, pairs_, way_, over_)};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const Turning other = way_ == Turning::forward ? Turning::back : Turning::forward;
    at::Tensor ybar = std::move(gradients[0]);
    if (at::GradMode::is_enabled() || !held_once(ybar) || !ybar.is_contiguous() || !has_rows_to_turn(ybar))
      return {turned_by_rows(resolved(ybar), turns_, pairs_, other)};
    if (has_values()) turn_rows(ybar, turns_, pairs_, other, ybar);
    return {ybar};
  }

 private:
  RotaryTurns turns_;
  RotaryPairs pairs_;
  Turning way_;
  bool over_;
};

at::Tensor turned_by_rows(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs, Turning way) {
  const bool over = held_once(x);
  if (!recorded(x)) return turned_rows(x, turns, pairs, way, over);
  return record(std::make_shared<TurnedNode>(turns, pairs, way, over), {x}).front();
}

at::Tensor turned_by_rows_or_operators(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs) {
  return has_rows_to_turn(x) ? turned_by_rows(std::move(x), turns, pairs, Turning::forward)
                             : turned_by_operators(x, turns, pairs);
}

}  // namespace

Dispatched<at::Tensor(at::Tensor, const RotaryTurns&, RotaryPairs)> turned_kernels{
    turned_by_rows_or_operators, turned_by_rows_or_operators};

at::Tensor turned(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs) {
  const at::Device device = x.device();
  return turned_kernels(device, std::move(x), turns, pairs);
}

}  // namespace riesz::detail
