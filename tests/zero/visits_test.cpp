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

#include "layers.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/call_scope.h"
#include "riesz/nn/contraction/deferred_gradients.h"
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

TEST(Visits, MayBeOfTiedWeights) {
  expect_alike([](Layers& l, int) {
    Chain chain;
    backward(loss_of(l.tied(l.c(l.b(l.a(input(l)))))));
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

/// What one evaluation ends with is not followed by what the next begins with: a step after them gathers what
/// one before them did.
TEST(Visits, OfEvaluationsAreNotOne) {
  Layers l(all_workers());
  Zero zero(l.parameters(), {.stage = 3, .keep = 0});
  const auto gathered = [&] {
    Counters::instance().record(true);
    Chain chain;
    backward(loss_of(l.c(l.b(l.a(input(l))))));
    std::int64_t elements = 0;
    for (const TrafficRecord& record : Counters::instance().records()) {
      if (record.operation.starts_with("AllGather")) elements += record.traffic.elements;
    }
    Counters::instance().record(false);
    zero.store()->zero_gradients();
    return elements;
  };
  gathered();
  const std::int64_t before = gathered();
  {
    const at::NoGradGuard no_gradient;
    for (int batch = 0; batch < 2; ++batch) {
      const CallScope model(nullptr);
      l.c(l.b(l.a(input(l))));
    }
  }
  gathered();
  EXPECT_EQ(gathered(), before);
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

/// And never computed: then the biases alone are trained.
TEST(Visits, MayHaveTheirGradientsPutOff) {
  expect_alike([](Layers& l, int step) {
    DeferredGradients later;
    Chain chain;
    backward(loss_of(l.c(l.b(l.a(input(l))))));
    if (step % 2 == 0) later.compute();
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

/// One region twice, which is two visits of each unit in it; with something around them, or all there is.
TEST(Visits, MayBeComputedAgainInSeveralRegions) {
  expect_alike(
      [](Layers& l, int step) {
        Chain chain;
        const Vector x = input(l);
        const auto region = [&l, X = x.space()](const at::Tensor& t) {
          return l.c(l.b(Vector(X, t))).local();
        };
        at::Tensor y = step % 2 == 0 ? l.a(x).local() : x.local().clone().requires_grad_();
        for (int i = 0; i < 2; ++i) y = Recomputed::apply(y, region);
        backward(loss_of(Vector(x.space(), y)));
      },
      [](Layers& l, int step) {
        Chain chain;
        Vector y = step % 2 == 0 ? l.a(input(l)) : input(l);
        for (int i = 0; i < 2; ++i) y = l.c(l.b(y));
        backward(loss_of(y));
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

/// A gather that failed leaves nothing behind: the step after it has the gradients of one that none failed
/// before.
TEST(Visits, ThatDifferBetweenWorkersAreAnErrorWhereValuesAreSharded) {
  if (Runtime::size() == 1) return;
  const auto gradients = [](Layers& l, Zero& zero) {
    zero.store()->zero_gradients();
    Chain chain;
    backward(loss_of(l.c(l.b(l.a(input(l))))));
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : l.parameters()) all.push_back(parameter.gradient().local());
    zero.store()->zero_gradients();
    return all;
  };
  for (const int prefetch : {0, 1}) {
    Layers layers(all_workers()), others(all_workers());
    Zero zero(layers.parameters(), {.stage = 3, .keep = 0, .prefetch = prefetch});
    Zero never_failed(others.parameters(), {.stage = 3, .keep = 0, .prefetch = prefetch});
    {
      Chain chain;
      const Vector x = input(layers);
      EXPECT_ERROR(Runtime::rank() == 0 ? layers.a(x) : layers.b(x), "AllGather of a", "AllGather of b");
    }
    EXPECT_NO_THROW(zero.store()->shares());
    const std::vector<at::Tensor> after = gradients(layers, zero), expected = gradients(others, never_failed);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(at::equal(after[i], expected[i])) << i;
  }
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

}  // namespace
}  // namespace riesz::testing
