// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/backward.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/new_tensor.h"
#include "riesz/comm/trace/range.h"
#include "riesz/primitives/backward_passes.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

Chain& current_chain(const char* what) {
  Chain* chain = Chain::current();
  RIESZ_CHECK(chain != nullptr, what,
              " outside a chain: open one around the computation that it goes back through "
              "(riesz::Chain chain;)");
  return *chain;
}

void check_loss(const Space& space) {
  RIESZ_CHECK(space.dims() == 0, "backward: the loss is a vector of ", to_string(space),
              ", not a scalar; reduce it to one, in a Space(partition, {})");
  for (const Axis& axis : space.partition().axes()) {
    const Placement placement = space.placement(axis.name);
    if (placement == Placement::Replicated) continue;
    throw_error(concat(
        "backward: the loss is ", to_string(placement), " on axis ", axis.name, ", in ", to_string(space),
        ", where it must be Replicated; missing: ", placement == Placement::Partial ? "AllReduce" : "Agree",
        " over ", axis.name, ", which between(X, Y) finds"));
  }
}

void check_dual(const char* what, const Vector& y, const Vector& ybar) {
  RIESZ_CHECK(ybar.space() == dual(y.space()), what, ": the gradient of a vector of\n  ",
              to_string(y.space()), "\nis in its dual, not in\n  ", to_string(ybar.space()));
}

struct Roots {
  torch::autograd::variable_list outputs;
  torch::autograd::variable_list seeds;

  /// Where it was recorded.
  void add(const Vector& y, const Vector& ybar) {
    if (!y.local().requires_grad()) return;
    outputs.push_back(y.local());
    seeds.push_back(ybar.local());
  }

  /// Unless another root leads to the last call of the chain already: a root takes more than a microsecond.
  void add_token(const at::Tensor& token) {
    if (outputs.empty() || !detail::of_one_call(outputs.back(), token)) {
      outputs.push_back(token);
      seeds.push_back(no_elements(token.options()));
    }
  }
};

/// One pass of all whose vectors it begins at, and of all whom the chain reaches.
void count_pass(const Chain& chain, const std::vector<Vector>& ys) {
  Partition all = ys.front().space().partition();
  const auto add = [&all](const Partition& workers) {
    if (!(workers == all)) all = all | workers;
  };
  for (const Vector& y : ys) add(y.space().partition());
  for (const Partition& workers : chain.reached()) add(workers);
  count_backward_pass(all);
}

/// While backward goes through a chain.
struct GoesBack {
  explicit GoesBack(Chain& through) : chain(through), number(detail::next_backward()) {
    chain.begin_backward();
  }
  ~GoesBack() { chain.end_backward(); }
  GoesBack(const GoesBack&) = delete;
  GoesBack& operator=(const GoesBack&) = delete;
  Chain& chain;
  std::uint64_t number;
};

/// Of the exception that is being caught. Where a device's backward runs in a thread of LibTorch's, this one
/// has left no layer.
void name_layer(const Roots& roots, const GoesBack& going) {
  if (!LayerScope::left_by_exception().empty()) return;
  try {
    LayerScope::leave_by_exception(detail::layer_of_failed_backward(roots.outputs, going.number));
  } catch (const std::bad_alloc&) {  // what is being caught says more
  }
}

/// From these and the chain's last token, which leads to every communication on every worker.
void run(Chain& chain, const at::Tensor& token, Roots roots) {
  const Range range(RangeKind::phase, "backward");
  roots.add_token(token);
  const GoesBack going(chain);
  try {
    torch::autograd::backward(roots.outputs, roots.seeds);
  } catch (...) {
    name_layer(roots, going);
    chain.restart();  // what it had recorded is partly gone
    throw;
  }
  chain.restart();
}

}  // namespace

void backward(const Vector& loss) {
  Chain& chain = current_chain("backward");
  check_loss(loss.space());
  RIESZ_CHECK(!loss.is_constant(), "backward: the loss, in ", to_string(loss.space()),
              ", is a constant: it was computed from frozen parameters, integers and constants alone, so no "
              "gradient goes back from it; train a parameter that it depends on (freeze fewer), or leave "
              "backward out");
  Roots roots;
  roots.add(loss, {dual(loss.space()), at::ones_like(loss.local())});
  count_pass(chain, {loss});
  run(chain, chain.token(loss.local().device()), std::move(roots));
}

void backward(const std::vector<Vector>& ys, const std::vector<Vector>& ybars) {
  Chain& chain = current_chain("backward");
  RIESZ_CHECK(ys.size() == ybars.size() && !ys.empty(), "backward: ", ybars.size(), " gradients for ",
              ys.size(), " vectors; give one to each, of one vector at least");
  Roots roots;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    check_dual("backward", ys[i], ybars[i]);
    roots.add(ys[i], ybars[i]);
  }
  count_pass(chain, ys);
  run(chain, chain.token(ys.front().local().device()), std::move(roots));
}

void backward(const Vector& y, const Vector& ybar) { backward(std::vector{y}, std::vector{ybar}); }

std::vector<Vector> pullback(const Vector& y, const Vector& ybar, const std::vector<Vector>& inputs,
                             bool create_graph) {
  Chain& chain = current_chain("pullback");
  check_dual("pullback", y, ybar);
  const at::Device device = y.local().device();
  const at::Tensor token = chain.token(device);
  // The token as its own seed: what is recorded here follows all that was recorded before, on every worker.
  Roots roots;
  if (create_graph) roots = {{token}, {token}};
  roots.add(y, ybar);
  if (!create_graph) roots.add_token(token);
  torch::autograd::variable_list leaves;
  for (const Vector& x : inputs) leaves.push_back(x.local());
  leaves.push_back(chain.head(device));
  const auto gradients = [&] {
    const GoesBack going(chain);
    try {
      return torch::autograd::grad(roots.outputs, leaves, roots.seeds, create_graph, create_graph, true);
    } catch (...) {
      name_layer(roots, going);
      if (!create_graph) chain.restart();  // as above
      throw;
    }
  }();
  if (!create_graph) {
    chain.restart();
  } else if (gradients.back().defined()) {
    chain.advance(gradients.back());
  }
  std::vector<Vector> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& g = gradients[i];
    result.emplace_back(dual(inputs[i].space()), g.defined() ? g : at::zeros_like(inputs[i].local()));
  }
  return result;
}

Vector gradient(const Vector& x) {
  RIESZ_CHECK(!x.is_constant(), "gradient: what is asked for is a constant, to which none goes back, of\n  ",
              to_string(x.space()));
  const bool leaf = x.local().is_leaf();
  RIESZ_CHECK(leaf || x.local().retains_grad(), "gradient: what is asked for was computed, a vector of\n  ",
              to_string(x.space()),
              "\nand backward leaves gradients at leaves alone; ask for pullback(y, ybar, {x})");
  RIESZ_CHECK(
      !leaf || x.local().requires_grad(), "gradient: what is asked for requires none, a vector of\n  ",
      to_string(x.space()),
      "\nso backward leaves none at it; say x.local().requires_grad_() on every worker before x is used");
  const at::Tensor& g = x.local().grad();
  return {dual(x.space()), g.defined() ? g : at::zeros_like(x.local())};
}

}  // namespace riesz
