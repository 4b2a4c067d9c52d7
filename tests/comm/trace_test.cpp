// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/trace/trace.h"

#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "riesz/comm/trace/kernels.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

/// A trace that ends with the test.
struct Traced {
  explicit Traced(std::int64_t most = Trace::kMostEvents) { Trace::start(most); }
  ~Traced() {
    if (Trace::under_way()) Trace::stop();
  }
};

std::vector<std::string> names_of(const TraceLog& log) {
  std::vector<std::string> names;
  for (const TraceEvent& event : log.events) names.push_back(event.name);
  return names;
}

TEST(Trace, HasRangesInTheirOrderAndOneInTheOther) {
  const Traced traced;
  {
    const Range outer(RangeKind::phase, "outer");
    {
      const Range first(RangeKind::layer, "first", [] { return "a detail"; });
    }
    { const Range second(RangeKind::layer, "second"); }
  }

  const TraceLog log = Trace::stop();

  EXPECT_EQ(log.threads, std::vector<std::string>{"main"});
  ASSERT_EQ(names_of(log), (std::vector<std::string>{"outer", "first", "second"}));
  const TraceEvent &outer = log.events[0], &first = log.events[1], &second = log.events[2];
  EXPECT_EQ(first.detail, "a detail");
  EXPECT_EQ(first.kind, RangeKind::layer);
  EXPECT_LE(log.begin, outer.begin);
  EXPECT_LE(outer.begin, first.begin);
  EXPECT_LE(first.begin, first.end);
  EXPECT_LE(first.end, second.begin);
  EXPECT_LE(second.end, outer.end);
  EXPECT_LE(outer.end, log.end);
}

TEST(Trace, TakesNothingDownWhenItIsOff) {
  bool asked = false;
  {
    const Range range(RangeKind::layer, "before", [&] { return asked = true, "detail"; });
  }
  {
    const Traced traced;
    Trace::stop();
  }
  Counters::instance().add("Sent", {1, 8, 1});
  const Traced traced;

  EXPECT_TRUE(Trace::stop().events.empty());
  EXPECT_FALSE(asked);
}

TEST(Trace, LeavesOutWhatBeganBeforeAndEndsWhatIsOpen) {
  std::optional<Range> before(std::in_place, RangeKind::layer, "before");
  const Traced traced;
  { const Range inside(RangeKind::layer, "inside"); }
  before.reset();
  const Range open(RangeKind::layer, "open");

  const TraceLog log = Trace::stop();

  ASSERT_EQ(names_of(log), (std::vector<std::string>{"inside", "open"}));
  EXPECT_EQ(log.events[1].end, log.end);
}

TEST(Trace, DropsWhatIsBeyondItsLimitAndSaysHowMany) {
  const Traced traced(2);
  {
    const Range outer(RangeKind::phase, "outer");
    for (int i = 0; i < 3; ++i) const Range inner(RangeKind::layer, std::to_string(i));
  }

  const TraceLog log = Trace::stop();

  EXPECT_EQ(names_of(log), (std::vector<std::string>{"outer", "0"}));
  EXPECT_EQ(log.dropped, 2);
  EXPECT_GE(log.events[0].end, log.events[1].end);
}

TEST(Trace, KeepsThreadsApart) {
  const Traced traced;
  const Range outer(RangeKind::phase, "outer");
  std::thread([] {
    name_thread("another");
    const Range range(RangeKind::layer, "there");
  }).join();

  const TraceLog log = Trace::stop();

  EXPECT_EQ(log.threads, (std::vector<std::string>{"main", "another"}));
  ASSERT_EQ(names_of(log), (std::vector<std::string>{"outer", "there"}));
  EXPECT_EQ(log.events[0].thread, 0u);
  EXPECT_EQ(log.events[1].thread, 1u);
}

TEST(Trace, GivesTrafficToTheRangeOfItsOperationOrToAnEventOfItsOwn) {
  const Traced traced;
  {
    const Range range(RangeKind::operation, "AllReduce");
    const Range wait(RangeKind::wait, "wait");
    Counters::instance().add("AllReduce", {2, 16, 1});
    Counters::instance().add("AllReduce", {1, 8, 1});
    Counters::instance().add("AllMax", {1, 1, 1});
  }

  const TraceLog log = Trace::stop();

  ASSERT_EQ(names_of(log), (std::vector<std::string>{"AllReduce", "wait", "AllMax"}));
  EXPECT_EQ(log.events[0].sent, (Traffic{3, 24, 2}));
  EXPECT_EQ(log.events[1].sent, Traffic{});
  EXPECT_EQ(log.events[2].sent, (Traffic{1, 1, 1}));
  EXPECT_EQ(log.events[2].begin, log.events[2].end);
}

TEST(Trace, HasEachKernelThatTheProgramCallsWhileTheyAreTakenDown) {
  const Traced traced;
  const at::Tensor x = at::full({3, 4}, 1.);
  {
    const KernelRanges kernels;
    const Range outer(RangeKind::operation, "AllReduce");
    at::linear(x, x);  // which calls others
    std::thread([&] { x.add(1); }).join();
    Counters::instance().add("AllReduce", {2, 16, 1});
  }
  x.add(1);

  const TraceLog log = Trace::stop();

  ASSERT_EQ(names_of(log), (std::vector<std::string>{"AllReduce", "aten::linear", "aten::add"}));
  EXPECT_EQ(log.events[0].sent, (Traffic{2, 16, 1}));
  EXPECT_EQ(log.events[1].kind, RangeKind::kernel);
  EXPECT_GT(log.events[1].end, log.events[1].begin);
  EXPECT_EQ(log.events[2].thread, 1U);
}

TEST(Trace, IsRefusedTwice) {
  const Traced traced;

  EXPECT_ERROR(Trace::start(), "a sink already");
  Trace::stop();
  EXPECT_ERROR(Trace::stop(), "call Trace::start before");
}

}  // namespace
}  // namespace riesz
