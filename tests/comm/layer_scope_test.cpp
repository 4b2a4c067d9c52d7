// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/layer_scope.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/simulation.h"

namespace riesz {
namespace {

std::vector<std::string> texts() {
  std::vector<std::string> lines;
  for (const TrafficRecord& r : Counters::instance().records())
    lines.push_back(r.origin.layer + "|" + to_string(r.origin.phase) + "|" + r.operation + "|" +
                    std::to_string(r.traffic.elements));
  return lines;
}

/// Counters keep records for a test's life.
class LayerScopeTest : public ::testing::Test {
 protected:
  LayerScopeTest() {
    counters.reset();
    counters.record(true);
  }
  ~LayerScopeTest() override { counters.record(false); }

  Counters& counters = Counters::instance();
};

TEST_F(LayerScopeTest, NamesWhatIsCountedInIt) {
  counters.add("first", {1, 4, 1});
  {
    const LayerScope outer("mlp");
    counters.add({"Name", "text"}, {10, 40, 1});
    {
      const LayerScope inner("mlp.down", Phase::update);
      const LayerScope same;
      counters.add("inner", {100, 400, 1});
    }
    counters.add({"Name", "text"}, {20, 80, 1});
  }
  counters.add("first", {2, 8, 1});

  EXPECT_EQ(texts(), (std::vector<std::string>{"|forward|first|3", "mlp|forward|text|30",
                                               "mlp.down|update|inner|100"}));
  EXPECT_EQ(counters.by_operation().at("Name"), (Traffic{30, 120, 2})) << "the counters count as ever";
}

TEST_F(LayerScopeTest, IsToldToTheInnermostWatchOfItsThread) {
  struct Told : LayerObserver {
    void entered(const std::shared_ptr<const Origin>& origin) override { lines.push_back(origin->layer); }
    void left() noexcept override { lines.emplace_back("left"); }
    std::vector<std::string> lines;
  };
  Told told;
  {
    const LayerScope mlp("mlp");
    std::thread([] { const LayerScope elsewhere("elsewhere"); }).join();
    {
      Told inner;
      const LayerScope down("mlp.down", Phase::backward);
      EXPECT_EQ(inner.lines, std::vector<std::string>{"mlp.down"});
    }
    const LayerScope up("mlp.up");
  }
  EXPECT_EQ(told.lines, (std::vector<std::string>{"mlp", "mlp.up", "left", "left"}));
}

TEST_F(LayerScopeTest, GoesWithWorkToAnotherThread) {
  std::shared_ptr<const Origin> origin;
  {
    const LayerScope layer("attn");
    origin = LayerScope::current();
  }
  std::thread([&] {
    counters.add("before", {1, 4, 1});
    const LayerScope layer(origin);
    counters.add("within", {2, 8, 1});
  }).join();

  EXPECT_EQ(texts(), (std::vector<std::string>{"|forward|before|1", "attn|forward|within|2"}));
}

TEST_F(LayerScopeTest, CountsNothingByLayerUnlessRecordsAreKept) {
  counters.record(false);
  const LayerScope layer("attn");
  counters.add("unseen", {1, 4, 1});

  EXPECT_TRUE(counters.records().empty());
  EXPECT_EQ(counters.total(), (Traffic{1, 4, 1}));
}

/// What is said after an exception that leaves these layers, the innermost last.
std::string left_by_exception(const std::function<void()>& inside) {
  try {
    const LayerScope outer("mlp");
    inside();
  } catch (const std::exception&) {
  }
  return LayerScope::left_by_exception();
}

TEST(LayerScope, SaysWhichLayerAnExceptionHasLeft) {
  const auto fail = [] { throw std::logic_error("no"); };
  const auto deeper = [&] {
    const LayerScope inner("mlp.down", Phase::update);
    fail();
  };

  EXPECT_EQ(left_by_exception(fail), "mlp");
  EXPECT_EQ(left_by_exception(deeper), "mlp.down");
  EXPECT_EQ(left_by_exception([] {}), "");
  EXPECT_EQ(left_by_exception(deeper), "mlp.down");
  try {
    throw_error("outside of all layers");
  } catch (const Error&) {
  }
  EXPECT_EQ(LayerScope::left_by_exception(), "");
}

TEST_F(LayerScopeTest, RecordsBeginAnew) {
  counters.add("old", {1, 4, 1});
  counters.record(true);
  counters.add("new", {2, 8, 1});
  EXPECT_EQ(texts(), std::vector<std::string>{"|forward|new|2"});

  counters.reset();
  EXPECT_TRUE(counters.records().empty());
}

TEST(PhaseScope, ReplacesForwardInARecording) {
  Recorder recorder;
  {
    const Simulation job(0, 2, &recorder);
    const PhaseScope again(Phase::recompute);
    const LayerScope mlp("mlp");
    Communicator::world().exchange("again", {{1, at::zeros({1})}}, {});
  }
  EXPECT_EQ(origin_text(recorder.take().events.at(0).origin), " in layer mlp, recompute");
}

}  // namespace
}  // namespace riesz
