// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Micro-batches of one step that go forward and backward in turns, in one order or another, each in a Chain
// and perhaps a thread of its own, as a pipeline's do; of one model and of two.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"
#include "turns.h"

namespace riesz::testing {
namespace {

/// Steps of such orders.
TrainingRun train_in(const std::vector<Order>& orders, const Case& how, const ZeroOptions* options) {
  Layers layers(options != nullptr ? all_workers() : alone());
  TrainingRun run;
  run.add_initial(layers);
  std::optional<Zero> zero;
  if (options != nullptr) zero.emplace(layers.parameters(), *options);
  SGD optimizer(zero ? zero->store() : whole(layers.parameters()), {.learning_rate = 0.003});
  for (const Order& order : orders) {
    go(layers, zero ? &*zero : nullptr, order, how);
    if (&order == &orders.front()) run.add_gradients(layers);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(layers);
  return run;
}

void expect_as_in_turn(const std::vector<Order>& orders, const Case& how, int stages = 4) {
  std::vector<Order> turns;
  for (const Order& order : orders) turns.push_back(in_turn(order));
  const TrainingRun reference = train_in(turns, {.absent = how.absent}, nullptr);
  for (int stage = 0; stage < stages; ++stage) {
    SCOPED_TRACE(::testing::Message()
                 << "stage " << stage << (how.put_off ? ", put off" : "")
                 << (how.threads ? ", in threads" : "") << (how.absent ? ", absent" : ""));
    const ZeroOptions options{.stage = stage,
                              .bucket = 1,
                              .segment = stage == 2 ? 11 : 40,
                              .keep = 0,
                              .prefetch = how.threads ? 0 : 1};
    EXPECT_TRUE(compare_runs(train_in(orders, how, &options), reference));
  }
}

TEST(Interleaved, AreWhatTheyAreOneAfterAnother) {
  std::mt19937 random(5);
  for (int seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const bool put_off = seed % 3 == 1;
    std::vector<Order> orders;
    for (int step = 0; step < 3; ++step) orders.push_back(random_order(random, 2 + random() % 4, put_off));
    expect_as_in_turn(orders, {.put_off = put_off, .threads = seed % 2 == 1});
  }
}

/// GPipe, both ways; 1F1B; with weights' gradients put off.
TEST(Interleaved, AreThoseOfSchedules) {
  const Order gpipe = order_of("F0 F1 F2 B0 B1 B2"), turned = order_of("F0 F1 F2 B2 B1 B0");
  expect_as_in_turn({gpipe, turned, order_of("F0 F1 B0 F2 B1 B2")}, {});
  expect_as_in_turn({order_of("F0 F1 B0 F2 B1 W0 B2 W1 W2"), order_of("F0 F1 B0 B1 W1 W0")},
                    {.put_off = true});
}

/// What came so far; the step stays as it is.
TEST(Interleaved, MayBeReadWhileTheyAreUnderWay) {
  expect_as_in_turn({order_of("F0 F1 F2 B0 B1 B2"), order_of("F0 F1 B1 F2 B0 B2")}, {.read = true});
}

/// Each is a pass of the step: `of` counts them.
TEST(Interleaved, MayBeSeveralChainsOfAMicroBatch) {
  const auto train = [](const ZeroOptions* options) {
    Layers l(options != nullptr ? all_workers() : alone());
    TrainingRun run;
    run.add_initial(l);
    std::optional<Zero> zero;
    if (options != nullptr) zero.emplace(l.parameters(), *options);
    for (int i = 0; i < 3; ++i) {
      if (zero) zero->begin(2 * i, 6);
      Chain first;
      const Vector y = l.b(l.a(input(l)));
      first.leave();
      const Vector cut(y.space(), y.local().detach().requires_grad_());
      {
        if (zero) zero->begin(2 * i + 1, 6);
        Chain second;
        const Vector z = l.c(cut);
        backward(z, gradient_at(z, 0, {}, false));
      }
      const Chain::Scope in(first);
      backward(y, gradient(cut));
    }
    run.add_gradients(l);
    return run;
  };
  const TrainingRun reference = train(nullptr);
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    const ZeroOptions options{.stage = stage, .bucket = 1, .keep = 0};
    EXPECT_TRUE(compare_runs(train(&options), reference));
  }
}

TEST(Interleaved, MayHaveWorkersThatUseNothing) {
  std::mt19937 random(7);
  expect_as_in_turn({order_of("F0 F1 B0 F2 B1 B2"), random_order(random, 5, false)}, {.absent = true}, 3);
  expect_as_in_turn({random_order(random, 4, true)}, {.put_off = true, .absent = true}, 3);
}

/// Elements that have left this worker in reductions.
std::int64_t reduced_so_far() {
  std::int64_t elements = 0;
  for (const TrafficRecord& record : Counters::instance().records()) {
    const std::string& what = record.operation;
    const bool reduces = what.find("Reduce") != std::string::npos && what.find(" of ") != std::string::npos;
    if (reduces) elements += record.traffic.elements;
  }
  return elements;
}

/// What leaves in one reduction of all, which lie in buckets of so many elements.
std::int64_t elements_of(int stage, const std::vector<std::int64_t>& buckets) {
  std::int64_t elements = 0;
  for (const std::int64_t n : buckets) {
    const std::int64_t mine = Split::balanced(n, Runtime::size())[Runtime::rank()].size();
    elements += n - mine + (stage == 0 ? (Runtime::size() - 1) * mine : 0);
  }
  return elements;
}

constexpr std::int64_t kUnit = kWidth * (kWidth + 1);

/// As many reductions as there are micro-batches, also where one brings nothing, on one worker or all.
TEST(Interleaved, SendWhatTheFormulaSays) {
  for (const int stage : {0, 1, 2, 3}) {
    for (const std::string order : {"F0 F1 B0 F2 B1 B2", "F0 F1 F2 B2 D1 B0"}) {
      for (const bool absent : {false, true}) {
        if (absent && stage == 3) continue;
        SCOPED_TRACE(::testing::Message()
                     << "stage " << stage << ", " << order << (absent ? ", absent" : ""));
        Layers layers(all_workers());
        Zero zero(layers.parameters(), {.stage = stage, .keep = 0});
        Counters::instance().record(true);
        go(layers, &zero, order_of(order), {.absent = absent});
        zero.store()->shares();
        const std::vector<std::int64_t> one{3 * kUnit}, three{kUnit, kUnit, kUnit};
        EXPECT_EQ(reduced_so_far(), (stage < 2 ? 1 : 3) * elements_of(stage, stage < 3 ? one : three));
        Counters::instance().record(false);
        zero.store()->zero_gradients();
      }
    }
  }
}

/// What is reduced after these, of one model beside another's, without a word of the step's end; waited for
/// until it is `expected`.
std::int64_t reduced_after(int stage, const std::string& order, std::int64_t expected,
                           bool without_c = false) {
  Layers layers(all_workers()), others(all_workers());
  Zero zero(layers.parameters(), {.stage = stage, .bucket = 1, .keep = 0});
  const Zero beside(others.parameters(), {.stage = stage, .bucket = 1, .keep = 0});
  Counters::instance().record(true);
  std::vector<Flight> flights(3);
  for (const auto& [act, i] : order_of(order)) {
    if (act == Act::F) {
      zero.begin(static_cast<std::int64_t>(i), 3);
      flights[i].chain = std::make_unique<Chain>(static_cast<int>(i));
      const Vector y = layers.b(layers.a(input(layers)));
      flights[i].y = without_c ? y : layers.c(y);
      flights[i].chain->leave();
    } else {
      const Chain::Scope in(*flights[i].chain);
      backward(*flights[i].y, gradient_at(*flights[i].y, i, {}, false));
    }
  }
  for (int look = 0; look < 1000 && reduced_so_far() != expected; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const at::NoGradGuard no_gradient;
    if (stage == 2) layers.a(input(layers));  // what had no room goes on
  }
  const std::int64_t reduced = reduced_so_far();
  Counters::instance().record(false);
  wait_for_all(all_workers());
  flights.clear();
  zero.store()->zero_gradients();
  return reduced;
}

/// Before the step asks for them: in stages 0 and 1 when the last micro-batch goes backward, whichever that
/// is, in 2 and 3 when each does.
TEST(Interleaved, AreReducedWhileBackwardGoesOn) {
  if (Runtime::size() == 1) return;
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    const std::int64_t once = elements_of(stage, {kUnit, kUnit, kUnit});
    for (const std::int64_t times : {0, 1, 2, 3}) {
      const char* orders[] = {"F0 F1 F2", "F0 F1 B0", "F0 F1 F2 B2 B0", "F0 F1 F2 B2 B0 B1"};
      const std::int64_t expected = once * (stage < 2 ? times / 3 : times);
      EXPECT_EQ(reduced_after(stage, orders[times], expected), expected) << orders[times];
    }
  }
  const std::int64_t once = elements_of(2, {kUnit, kUnit, kUnit});
  EXPECT_EQ(reduced_after(2, "F0 F1 B0", once, true), once) << "the last unit is left out";
}

/// Two models at once, as two chunks of a pipeline: each worker goes on with them in an order of its own.
TEST(Interleaved, MayBeOfTwoModelsInAnotherOrderOnEachWorker) {
  const std::vector<Order> orders{order_of("F0 F1 B0 F2 B1 B2"), order_of("F0 F1 F2 B2 B1 B0")};
  const TrainingRun reference = train_in(orders, {}, nullptr);
  for (const int stage : {0, 1, 2}) {
    SCOPED_TRACE(stage);
    Layers models[] = {Layers(all_workers()), Layers(all_workers())};
    TrainingRun runs[2];
    std::unique_ptr<Zero> zeros[2];
    for (const int m : {0, 1}) {
      runs[m].add_initial(models[m]);
      zeros[m] = std::make_unique<Zero>(models[m].parameters(), ZeroOptions{.stage = stage, .bucket = 1});
    }
    SGD optimizer(several({zeros[0]->store(), zeros[1]->store()}), {.learning_rate = 0.003});
    std::mt19937 mine(static_cast<unsigned>(Runtime::rank()));
    for (const Order& order : orders) {
      std::size_t done[2] = {0, 0};
      std::vector<Flight> flights[2] = {std::vector<Flight>(3), std::vector<Flight>(3)};
      while (done[0] + done[1] < 2 * order.size()) {
        std::size_t m = mine() % 2;
        if (done[m] == order.size()) m = 1 - m;
        const auto [act, i] = order[done[m]++];
        Flight& flight = flights[m][i];
        if (act == Act::F) {
          zeros[m]->begin(static_cast<std::int64_t>(i), 3);
          flight.chain = std::make_unique<Chain>(static_cast<int>(3 * m + i));
          flight.y = forward(models[m], i);
          flight.chain->leave();
        } else {
          const Chain::Scope in(*flight.chain);
          backward(*flight.y, gradient_at(*flight.y, i, {}, false));
        }
      }
      for (const int m : {0, 1}) {
        if (&order == &orders.front()) runs[m].add_gradients(models[m]);
      }
      optimizer.step();
      optimizer.zero_gradients();
    }
    for (const int m : {0, 1}) {
      runs[m].add_weights(models[m]);
      EXPECT_TRUE(compare_runs(runs[m], reference)) << "model " << m;
    }
  }
}

/// Both in one chain: each comes back to its last unit when backward begins.
TEST(Interleaved, MayPassTwoModelsInOneChain) {
  const auto run = [](const ZeroOptions* options) {
    Layers one(options != nullptr ? all_workers() : alone()),
        two(options != nullptr ? all_workers() : alone());
    TrainingRun results;
    results.add_initial(one);
    std::optional<Zero> first, second;
    if (options != nullptr)
      first.emplace(one.parameters(), *options), second.emplace(two.parameters(), *options);
    std::vector<Flight> flights(2);
    for (const auto& [act, i] : order_of("F0 F1 B0 B1")) {
      Flight& flight = flights[i];
      if (act == Act::F) {
        for (auto* zero : {&first, &second}) {
          if (*zero) (*zero)->begin(static_cast<std::int64_t>(i), 2);
        }
        flight.chain = std::make_unique<Chain>(static_cast<int>(i));
        flight.y = two.c(two.a(one.b(one.a(two.b(forward(one, i))))));
        flight.chain->leave();
      } else {
        const Chain::Scope in(*flight.chain);
        backward(*flight.y, gradient_at(*flight.y, i, {}, false));
      }
    }
    results.add_gradients(one);
    TrainingRun more;
    more.add_gradients(two);
    for (const auto& [name, tensor] : more.results) results.results["two: " + name] = tensor;
    return results;
  };
  const TrainingRun reference = run(nullptr);
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    const ZeroOptions options{.stage = stage, .bucket = 1, .keep = 0};
    EXPECT_TRUE(compare_runs(run(&options), reference));
  }
}

/// In halves they are added in fp32, also where one waits for room while the next goes backward: what
/// rounding leaves is that of fp32.
TEST(Interleaved, AreAddedInSinglePrecision) {
  if (Runtime::size() == 1) return;  // nothing parts them there
  const auto gradients = [](int stage, const Order& order) {
    Layers layers(all_workers(), at::kBFloat16);
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1, .segment = 11, .keep = 0});
    go(layers, &zero, order, {});
    std::vector<at::Tensor> all;
    for (const Share& share : zero.store()->shares()) all.push_back(share.gradient.clone());
    zero.store()->zero_gradients();
    return all;
  };
  const Order order = order_of("F0 F3 F1 B3 B0 F2 B1 B2 F4 B4");
  for (const int stage : {0, 1, 2, 3}) {
    const auto turns = gradients(stage, in_turn(order)), interleaved = gradients(stage, order);
    for (std::size_t k = 0; k < turns.size(); ++k) {
      if (turns[k].numel() == 0) continue;
      const double most = turns[k].abs().max().item<double>();
      EXPECT_LE(turns[k].sub(interleaved[k]).abs().max().item<double>(), 1e-5 * most) << stage;
    }
  }
}

/// And of those that began, one whose backward was forgotten.
TEST(Interleaved, AreAllThatWerePromised) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Layers l(all_workers());
    Zero zero(l.parameters(), {.stage = stage, .bucket = 1});
    SGD optimizer(zero.store(), {.learning_rate = 0.01});
    for (std::int64_t i = 0; i < 2; ++i) {
      zero.begin(i, 3);
      Chain chain;
      backward(loss_of(l.c(l.a(input(l)))));
    }
    EXPECT_ERROR(optimizer.step(), "a step of 3 passes, of which begin was said for 2", "begin(i, 3)");
    zero.begin(2, 3);
    {
      Chain forgotten;
      const Vector loss = loss_of(l.c(l.a(input(l))));
      if (Runtime::size() > 1) {
        EXPECT_ERROR(optimizer.step(), "a step of 3 passes, of which 2 went backward here, and 1 did not");
      }
      backward(loss);
      l.c(l.a(input(l)));  // recorded once more, for nothing
      optimizer.step();
    }
    optimizer.zero_gradients();
  }
}

TEST(Interleaved, SayWhatIsWrong) {
  if (Runtime::size() == 1) return;
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    zero.begin(0, 2);
    EXPECT_ERROR(zero.begin(1, 3), "pass 1 of 3 in a step of 2", "zero_gradients()");
    go(layers, &zero, order_of("F0 B0 F1 B1"), {});
    Chain late;
    const Vector y = layers.c(layers.a(input(layers)));
    EXPECT_ERROR(backward(y, gradient_at(y, 0, {}, false)), "Zero: backward comes to c again",
                 "of its 2 passes", "Chains that go backward through this Zero");
    zero.store()->zero_gradients();
  }
}

}  // namespace
}  // namespace riesz::testing
