// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that use their parameters otherwise than once each, in order: tied, twice, not at all, by turns,
// in a region that backward computes again, with gradients put off.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/linear.h"
#include "riesz/nn/put_off.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/units.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kWidth = 5, kBatch = 7;

/// Some layers of one width over the batch, each a unit; and one that has the first's weight too.
struct Layers : Module {
  explicit Layers(const Partition& mesh)
      : Module(""),
        stream(Space(mesh, {Space::any, kWidth}).sharded(0, "dp")),
        a("a", "bi,io->bo", stream, stream),
        b("b", "bi,io->bo", stream, stream),
        c("c", "bi,io->bo", stream, stream),
        tied(std::make_unique<Linear>("tied", "bi,io->bo", stream, first(a), stream,
                                      LinearOptions{.bias = false})) {
    adopt(a, b, c, *tied);
    initialise(3, at::kDouble);
  }
  static const Parameter& first(const Linear& layer) {
    static std::vector<Parameter> kept;
    kept = layer.parameters();
    return kept.front();
  }
  std::string describe() const override { return "layers"; }

  Space stream;
  Linear a, b, c;
  std::unique_ptr<Linear> tied;
};

Vector input(const Layers& layers) {
  const at::Tensor x = at::linspace(-1, 1, kBatch * kWidth, at::kDouble).view({kBatch, kWidth});
  return distribute(layers.stream.with_shape({kBatch, kWidth}), x);
}

/// Σ y² over the batch.
Vector loss_of(const Vector& y) {
  const Space each = y.space();
  Space terms(each.partition(), {});
  terms = terms.partial("dp");
  Space loss(each.partition(), {});
  return between(terms, loss)(Vector(terms, y.local().square().sum()));
}

using Program = std::function<void(Layers& layers, int step)>;

Partition all_workers() { return Partition::world().grid({{"dp", Runtime::size()}}); }
Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}); }

TrainingRun train(const Partition& mesh, const Program& program, const ZeroOptions* options) {
  Layers layers(mesh);
  TrainingRun run;
  run.add_initial(layers);
  std::optional<Zero> zero;
  if (options != nullptr) zero.emplace(layers.parameters(), *options);
  SGD optimizer(zero ? zero->store() : whole(layers.parameters()), {.learning_rate = 0.01});
  for (int step = 0; step < 4; ++step) {
    program(layers, step);
    if (step == 0) run.add_gradients(layers);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(layers);
  return run;
}

/// Does the program train at every stage what it trains on one worker?
void expect_alike(const Program& program, const Program& on_one_worker) {
  const TrainingRun reference = train(alone(), on_one_worker, nullptr);
  for (const int stage : {0, 1, 2, 3}) {
    for (const int prefetch : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", " << prefetch << " ahead");
      const ZeroOptions options{.stage = stage, .bucket = 40, .keep = 0, .prefetch = prefetch};
      EXPECT_TRUE(compare_runs(train(all_workers(), program, &options), reference));
    }
  }
}

void expect_alike(const Program& program) { expect_alike(program, program); }

TEST(Visits, MayBeOfTiedWeights) {
  expect_alike([](Layers& l, int) {
    Chain chain;
    backward(loss_of((*l.tied)(l.c(l.b(l.a(input(l)))))));
  });
}

TEST(Visits, MayComeBackToAUnit) {
  expect_alike([](Layers& l, int) {
    Chain chain;
    backward(loss_of(l.a(l.b(l.a(l.b(l.c(l.a(input(l)))))))));
  });
}

TEST(Visits, MayLeaveUnitsOut) {
  expect_alike([](Layers& l, int) {
    Chain chain;
    backward(loss_of(l.c(input(l))));
  });
}

TEST(Visits, MayTakeAnotherWayEachStep) {
  expect_alike([](Layers& l, int step) {
    Chain chain;
    const Vector x = input(l);
    backward(loss_of(step % 2 == 0 ? l.c(l.b(l.a(x))) : l.a(l.c(x))));
  });
}

TEST(Visits, MayBeReadWithoutGradients) {
  expect_alike([](Layers& l, int) {
    {
      const at::NoGradGuard no_gradient;
      l.b(l.c(l.b(input(l))));
    }
    Chain chain;
    const Vector y = l.b(l.a(input(l)));
    {
      const at::NoGradGuard no_gradient;
      l.c(y);
    }
    backward(loss_of(y));
  });
}

/// Two chains under way at once, as a pipeline has.
TEST(Visits, MayBeOfSeveralChains) {
  expect_alike(
      [](Layers& l, int) {
        Chain first;
        const Vector y = loss_of(l.c(l.b(l.a(input(l)))));
        {
          Chain second;
          backward(0.5 * loss_of(l.b(l.a(input(l)))));
        }
        backward(0.5 * y);
      },
      [](Layers& l, int) {
        Chain chain;
        backward(0.5 * loss_of(l.c(l.b(l.a(input(l))))) + 0.5 * loss_of(l.b(l.a(input(l)))));
      });
}

TEST(Visits, MayHaveTheirGradientsPutOff) {
  expect_alike([](Layers& l, int) {
    PutOff later;
    Chain chain;
    backward(loss_of(l.c(l.b(l.a(input(l))))));
    later.compute();
  });
}

/// f, of which nothing is kept but x: backward computes it again.
struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            std::function<at::Tensor(const at::Tensor&)> f) {
    context->save_for_backward({x});
    const at::NoGradGuard no_gradient;
    const at::Tensor y = f(x);
    again() = std::move(f);
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::AutoGradMode gradient(true);
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    Chain chain;
    const at::Tensor y = again()(x);
    chain.begin_backward();
    const at::Tensor token = chain.token();
    torch::autograd::backward({y, token}, {gradients[0], at::zeros_like(token)});
    return {x.grad(), at::Tensor()};
  }
  static std::function<at::Tensor(const at::Tensor&)>& again() {
    static std::function<at::Tensor(const at::Tensor&)> f;
    return f;
  }
};

TEST(Visits, MayBeComputedAgain) {
  expect_alike(
      [](Layers& l, int) {
        Chain chain;
        const Vector x = l.a(input(l));
        const auto region = [&l, X = x.space()](const at::Tensor& t) {
          return l.c(l.b(Vector(X, t))).local();
        };
        const Vector y(x.space(), Recomputed::apply(x.local(), region));
        backward(loss_of(l.a(y)));
      },
      [](Layers& l, int) {
        Chain chain;
        backward(loss_of(l.a(l.c(l.b(l.a(input(l)))))));
      });
}

/// Some workers use a unit, and others do not: those have no gradient of it. (In stage 3 that is an error.)
TEST(Visits, MayDifferBetweenWorkersWhileValuesAreWhole) {
  const auto program = [](Layers& l, bool with_b) {
    Chain chain;
    Vector y = l.a(input(l));
    if (with_b) y = l.b(y);
    backward(loss_of(l.c(y)));
  };
  const int p = Runtime::size();
  // Rows of the first worker pass b on one worker as well.
  const Program mixed = [&](Layers& l, int) { program(l, Runtime::rank() == 0); };
  const Program reference = [&](Layers& l, int) {
    Chain chain;
    const std::int64_t rows = Split::balanced(kBatch, p)[0].size();
    const Vector y = l.a(input(l));
    const at::Tensor with = l.b(y).local().narrow(0, 0, rows);
    const Vector joined(y.space(), at::cat({with, y.local().narrow(0, rows, kBatch - rows)}));
    backward(loss_of(l.c(joined)));
  };
  const TrainingRun expected = train(alone(), reference, nullptr);
  for (const int stage : {0, 1, 2}) {
    SCOPED_TRACE(stage);
    const ZeroOptions options{.stage = stage, .bucket = 1};
    EXPECT_TRUE(compare_runs(train(all_workers(), mixed, &options), expected));
  }
}

TEST(Visits, ThatDifferBetweenWorkersAreAnErrorWhereValuesAreSharded) {
  if (Runtime::size() == 1) return;
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 3, .keep = 0, .prefetch = 0});
  const at::NoGradGuard no_gradient;
  const Vector x = input(layers);
  EXPECT_ERROR(Runtime::rank() == 0 ? layers.a(x) : layers.b(x), "AllGather of a", "AllGather of b");
  EXPECT_ERROR(zero.store()->shares(), "AllGather of a", "AllGather of b");
}

/// Two models at once, each with a Zero, whose backwards follow each other while workers are late by turns.
TEST(Visits, MayBeOfTwoModels) {
  Layers one(all_workers()), two(all_workers());
  Zero first(one.parameters(), {.stage = 2, .bucket = 1});
  Zero second(two.parameters(), {.stage = 2, .bucket = 1});
  for (int step = 0; step < 50; ++step) {
    for (Layers* layers : {&one, &two}) {
      if ((step + Runtime::rank()) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      Chain chain;
      backward(loss_of(layers->c(layers->b(layers->a(input(*layers))))));
    }
    for (Zero* zero : {&first, &second}) {
      zero->store()->shares();
      zero->store()->zero_gradients();
    }
  }
}

/// What lies before the region has its values when backward comes back from it.
TEST(Visits, MayGoOnBeforeWhatIsComputedAgain) {
  expect_alike(
      [](Layers& l, int) {
        Chain chain;
        const Vector x = l.a(l.a(input(l)));
        const auto region = [&l, X = x.space()](const at::Tensor& t) {
          return l.c(l.b(Vector(X, t))).local();
        };
        backward(loss_of(Vector(x.space(), Recomputed::apply(x.local(), region))));
      },
      [](Layers& l, int) {
        Chain chain;
        backward(loss_of(l.c(l.b(l.a(l.a(input(l)))))));
      });
}

/// A graph that nobody goes back through holds nothing up: the next backward takes gradients as it passes.
TEST(Visits, MayBeAbandoned) {
  if (Runtime::size() == 1) return;
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 1, .bucket = 1});
  {
    Chain chain;
    layers.c(layers.b(layers.a(input(layers))));
  }
  Chain chain;
  backward(loss_of(layers.c(layers.b(layers.a(input(layers))))));
  for (const Parameter& parameter : layers.parameters())
    EXPECT_FALSE(parameter.leaf().grad().defined()) << parameter.name();
  zero.store()->zero_gradients();
}

/// How many reductions have begun may differ between workers; a step that is given up ends them all.
TEST(Visits, MayBeOfAStepThatIsGivenUp) {
  for (const int stage : {0, 1, 2}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    for (int step = 0; step < 20; ++step) {
      Chain chain;
      Vector y = layers.a(input(layers));
      if ((Runtime::rank() + step) % 2 == 0) y = layers.b(y);
      backward(loss_of(layers.c(y)));
      zero.store()->zero_gradients();
    }
    for (const Share& share : zero.store()->shares()) EXPECT_TRUE(share.gradient.eq(0).all().item<bool>());
  }
}

/// Reading a gradient between micro-batches ends none of the step's.
TEST(Visits, MayBeReadBetweenMicroBatches) {
  for (const int stage : {2, 3}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    std::map<std::string, at::Tensor> unread;
    for (const bool read : {false, true}) {
      for (std::int64_t i = 0; i < 3; ++i) {
        zero.begin(i, 3);
        Chain chain;
        backward(loss_of(i < 2 ? layers.c(layers.a(input(layers))) : layers.b(input(layers))));
        if (read) layers.parameters().front().gradient();
      }
      for (const Parameter& parameter : layers.parameters()) {
        const at::Tensor gradient = parameter.gradient().local().clone();
        const auto [found, first] = unread.emplace(parameter.name(), gradient);
        EXPECT_TRUE(first || at::equal(found->second, gradient)) << parameter.name() << " in stage " << stage;
      }
      zero.store()->zero_gradients();
    }
  }
}

/// A parameter that is left out of a step has no gradient of the step before.
TEST(Visits, MayLeaveUnitsOutWhileNothingIsReduced) {
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 0, .bucket = 1});
  zero.set_reducing(false);
  for (const bool with_a : {true, false}) {
    Chain chain;
    const Vector x = input(layers);
    backward(loss_of(layers.c(with_a ? layers.a(x) : x)));
    EXPECT_EQ(zero.store()->shares().front().gradient.ne(0).any().item<bool>(), with_a);
    zero.store()->zero_gradients();
  }
}

/// Gradients that nobody would add any more are an error, not lost.
TEST(Visits, MayNotBeGoneBackThroughTwice) {
  for (const int stage : {0, 1, 2}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    Chain chain;
    const Vector x = input(layers);
    x.local().requires_grad_();
    const Vector loss = loss_of(layers.c(layers.a(x)));
    const Vector one(dual(loss.space()), at::ones_like(loss.local()));
    const Vector xbar = pullback(loss, one, {x}, true).front();
    zero.store()->shares();
    backward(loss_of(Vector(x.space(), xbar.local())));
    EXPECT_ERROR(zero.store()->shares(), "a gradient of a.weight came after the step's were reduced");
    zero.store()->zero_gradients();
  }
}

/// Units are alike on all workers, also where a parameter's parts are not.
TEST(Visits, AreOfTheSameUnitsOnAllWorkers) {
  const Partition mesh = all_workers();
  std::vector<Parameter> parameters;
  parameters.emplace_back("a.weight", Space(mesh, {2 * Runtime::size() - 1}).sharded(0, "dp"),
                          ParameterOptions{});
  parameters.emplace_back("b.weight", Space(mesh, {4}), ParameterOptions{});
  for (Parameter& parameter : parameters) parameter.initialise(3, at::kDouble);
  const auto units = plan_units(parameters, {"dp"}, 5).units.size();
  EXPECT_EQ(units, Runtime::size() == 1 ? 1 : 2);
}

}  // namespace
}  // namespace riesz::testing
