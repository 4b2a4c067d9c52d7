// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Each scope around the calls of modules gives back what surrounded it: the same kind of scope, or none.
#include "riesz/nn/call_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "riesz/nn/context.h"
#include "riesz/nn/model_cache.h"
#include "riesz/nn/recompute/region_scope.h"
#include "riesz/nn/recompute/saved_tensors.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/nn/stages/stages.h"

namespace riesz::testing {
namespace {

using detail::SavedTensors;
using detail::StageScope;

/// Is there none, then the outer one, then the inner one, and back? `Scope` is made of either, and `found` is
/// what surrounds a call now.
template <typename MakeScope, typename Found>
void expect_given_back(const MakeScope& scope, const Found& found) {
  const auto none = found();
  {
    const auto outer = scope(1);
    const auto first = found();
    EXPECT_NE(first, none);
    {
      const auto inner = scope(2);
      EXPECT_NE(found(), first);
    }
    EXPECT_EQ(found(), first);
  }
  EXPECT_EQ(found(), none);
}

class Nothing : public Crossing {
 public:
  void enter(int /*stage*/, const Partition& /*home*/, const std::vector<Vector*>& /*arguments*/,
             const std::vector<Space>& /*targets*/) override {}
};

TEST(CallState, IsGivenBackByEachKindOfScope) {
  const auto& state = detail::call_state();
  {
    SCOPED_TRACE("context");
    expect_given_back([](int i) { return std::make_unique<ContextScope>(Context{.step = i}); },
                      [&] { return state.context; });
  }
  {
    SCOPED_TRACE("cache");
    ModelCache one, two;
    expect_given_back([&](int i) { return std::make_unique<CacheScope>(i == 1 ? one : two, 1); },
                      [&] { return state.cache; });
  }
  {
    SCOPED_TRACE("crossing");
    expect_given_back([](int) { return std::make_unique<Nothing>(); }, [&] { return state.crossing; });
  }
  {
    SCOPED_TRACE("region");
    expect_given_back([](int i) { return std::make_unique<detail::InRegion>(std::to_string(i)); },
                      [&] { return state.region; });
  }
  {
    SCOPED_TRACE("saved tensors");
    const auto saved = std::make_shared<SavedTensors>("a region");
    expect_given_back(
        [&](int) { return std::make_unique<SavedTensors::Scope>(saved, SavedTensors::Run::first); },
        [&] { return state.saving; });
  }
}

/// A model in a stage of another: its call over, the thread is in that stage of that model again.
TEST(CallState, KnowsTheStageAgainAfterAnotherModel) {
  const Layout alone = spaces::one_d(Partition::simulated(1).grid({{"tp", 1}}));
  const Roles roles{{'b', {Role::batch}}};
  const Stages one({alone, alone}, roles, {}), other({alone, alone}, roles, {});
  {
    const StageScope outer(&one, 0);
    {
      const StageScope inner(&other, 1);
      EXPECT_TRUE(StageScope::in(&other, 1));
      EXPECT_FALSE(StageScope::in(&one, 0));
    }
    EXPECT_TRUE(StageScope::in(&one, 0));
  }
  EXPECT_TRUE(StageScope::in(nullptr, -1));
}

}  // namespace
}  // namespace riesz::testing
