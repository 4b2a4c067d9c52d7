// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Micro-batches of a step that go forward and backward in turns, each in a Chain and perhaps a thread of its
// own.
#pragma once

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "layers.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {

/// What is done next, with which micro-batch. W computes the gradients that its backward has put off; a drop
/// lets it go without a backward.
enum class Act { F, B, W, drop };
struct Action {
  Act act;
  std::size_t i;
};
using Order = std::vector<Action>;

/// Written "F0 F1 B0 …".
inline Order order_of(const std::string& text) {
  Order order;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const Act act = text[at] == 'F'   ? Act::F
                    : text[at] == 'B' ? Act::B
                    : text[at] == 'W' ? Act::W
                                      : Act::drop;
    order.push_back({act, static_cast<std::size_t>(text[at + 1] - '0')});
  }
  return order;
}

/// One after another: what all orders of the same actions come to.
inline Order in_turn(Order order) {
  std::stable_sort(order.begin(), order.end(), [](const Action& a, const Action& b) { return a.i < b.i; });
  return order;
}

/// Of n micro-batches, the same on all workers.
inline Order random_order(std::mt19937& random, std::size_t n, bool put_off) {
  std::vector<Order> rest;
  for (std::size_t i = 0; i < n; ++i) {
    if (!put_off && random() % 8 == 0)
      rest.push_back({{Act::F, i}, {Act::drop, i}});
    else
      rest.push_back({{Act::F, i}, {Act::B, i}});
    if (put_off) rest.back().push_back({Act::W, i});
  }
  Order order;
  while (!rest.empty()) {
    const auto at = rest.begin() + static_cast<std::ptrdiff_t>(random() % rest.size());
    order.push_back(at->front());
    at->erase(at->begin());
    if (at->empty()) rest.erase(at);
  }
  return order;
}

struct Case {
  bool put_off = false;
  bool threads = false;
  bool read = false;    ///< every gradient, after each backward
  bool absent = false;  ///< worker r uses nothing in the micro-batches i with i = r modulo 3
};

/// Micro-batches under way.
struct Flight {
  std::unique_ptr<Chain> chain;
  std::unique_ptr<DeferredGradients> later;
  std::optional<Vector> y;
};

/// Units are used in another way in each third micro-batch.
inline Vector forward(Layers& l, std::size_t i) {
  const Vector x = (1 + 0.25 * static_cast<double>(i)) * input(l);
  if (i % 3 == 0) return l.c(l.b(l.a(x)));
  if (i % 3 == 1) return l.tied(l.c(l.a(x)));
  const Vector y = l.b(l.c(x));
  const at::NoGradGuard no_gradient;
  l.c(y);  // looks as if it were to be computed again
  return y;
}

/// Of Σ y², without the rows of workers that use nothing.
inline Vector gradient_at(const Vector& y, std::size_t i, const Case& how, bool on_one_worker) {
  at::Tensor ybar = y.local().detach().mul(2);
  if (how.absent && on_one_worker) {
    const Split rows = Split::balanced(kBatch, Runtime::size());
    for (int r = 0; r < Runtime::size(); ++r) {
      if (static_cast<std::size_t>(r) % 3 == i % 3) ybar.narrow(0, rows[r].begin, rows[r].size()).zero_();
    }
  }
  return {dual(y.space()), ybar};
}

inline void go(Layers& l, Zero* zero, const Order& order, const Case& how) {
  std::int64_t of = 0;
  for (const Action& each : order) of += each.act == Act::F ? 1 : 0;
  const bool one = zero == nullptr;
  std::vector<Flight> flights(static_cast<std::size_t>(of));
  for (const auto& [act, i] : order) {
    Flight& flight = flights[i];
    const bool absent = !one && how.absent && static_cast<std::size_t>(Runtime::rank()) % 3 == i % 3;
    const auto begin = [&, i = i] {
      if (zero != nullptr) zero->begin(static_cast<std::int64_t>(i), of);
      if (absent) return;
      flight.chain = std::make_unique<Chain>(static_cast<int>(i));
      flight.y = forward(l, i);
      flight.chain->leave();
    };
    const auto end = [&, i = i] {
      if (absent) return;
      const Chain::Scope in(*flight.chain);
      backward(*flight.y, gradient_at(*flight.y, i, how, one));
      flight.y.reset();
    };
    if (act == Act::F && how.put_off) flight.later = std::make_unique<DeferredGradients>();
    if (act == Act::W && flight.later) flight.later->compute();
    if (act == Act::drop) flight.y.reset(), flight.chain.reset();
    if (act != Act::F && act != Act::B) continue;
    const std::function<void()> body = act == Act::F ? std::function<void()>(begin) : end;
    how.threads ? Thread(body).join() : body();
    for (std::size_t k = 0; how.read && act == Act::B && k < l.parameters().size(); ++k)
      l.parameters()[k].gradient();
  }
  std::vector<std::size_t> opened;
  for (const Action& each : order) {
    if (each.act == Act::F) opened.push_back(each.i);
  }
  for (auto i = opened.rbegin(); i != opened.rend(); ++i) flights[*i].later.reset();  // scopes nest
}

}  // namespace riesz::testing
