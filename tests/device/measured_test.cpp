// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The times of modules on a device are those in which its stream computes, not those in which calls return.
#include "riesz/pipeline/partitioner/measured.h"

#include <ATen/ops/arange.h>
#include <c10/core/Event.h>
#include <gtest/gtest.h>

#include <optional>

#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// x → w·x, for which the device takes some time forward, and some backward.
class Sleeper : public Layer<Sleeper> {
 public:
  Sleeper(OwnerAndName place, double forward, double backward)
      : Layer(std::move(place)), forward_(forward), backward_(backward) {}

  Vector forward(const Vector& x) {
    sleep_there(forward_);
    const Vector y = x * weight_.value();
    y.local().register_hook([this](const at::Tensor& gradient) {
      sleep_there(backward_);
      return gradient;
    });
    return y;
  }
  std::string describe() const override { return "Sleeper"; }

 private:
  double forward_, backward_;
  Parameter weight_{parameter("weight", Space(row(), {2}), {Initial::normal(1)})};
};

class Night : public Layer<Night> {
 public:
  Night() : Layer("night") {}
  Vector forward(const Vector& x) { return second_(first_(x)); }
  std::string describe() const override { return "Night"; }

 private:
  Sleeper first_{{*this, "first"}, 5, 40};
  Sleeper second_{{*this, "second"}, 10, 10};
};

TEST(OnADevice, ModulesAreTimedThere) {
  Night night;
  night.initialise(1, at::kDouble, pretend_device());
  const Vector x = there({Space(row(), {2}), at::arange(2, at::kDouble)}), ybar = there(x);
  int times = 0;
  const auto micro_batch = [&] {
    std::optional<NoHostReads> none;
    if (times++ > 0) none.emplace();  // weights are drawn at their first use
    Chain chain;
    backward(night(x), ybar);
  };
  const CostTree tree = measured(night, micro_batch, row(), {.warm_up = 1, .repeats = 3});
  const double first = tree.children[0].own.time, second = tree.children[1].own.time;
  EXPECT_GE(first, 0.045);
  EXPECT_GE(second, 0.020);
  EXPECT_LT(second, first);
}

TEST(OnADevice, EventsTakeTimesIfTheyAreMadeForIt) {
  const c10::Stream in = c10::impl::VirtualGuardImpl(pretend_device().type()).getStream(pretend_device());
  c10::Event begin(in.device_type(), c10::EventFlag::BACKEND_DEFAULT),
      end(in.device_type(), c10::EventFlag::BACKEND_DEFAULT), other(in.device_type());
  begin.record(in);
  sleep_there(5);
  end.record(in);
  other.record(in);
  {
    const LatenessScope latest(Lateness::latest);
    c10::Event later(in.device_type(), c10::EventFlag::BACKEND_DEFAULT);
    later.record(in);
    EXPECT_THROW(begin.elapsedTime(later), c10::Error);
  }
  other.synchronize();
  EXPECT_GE(begin.elapsedTime(end), 5);
  EXPECT_THROW(begin.elapsedTime(other), c10::Error);
}

}  // namespace
}  // namespace riesz::testing
