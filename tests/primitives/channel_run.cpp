// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "channel_run.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "random_program.h"
#include "riesz/comm/simulation.h"
#include "riesz/comm/thread.h"
#include "riesz/primitives/backward.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

using ActKind = Act::Kind;

/// All parts of a vector, of whole numbers or of any. In a simulation values mean nothing.
std::vector<at::Tensor> some_parts(const Space& X, std::uint64_t seed, bool whole) {
  if (Simulation::running()) return {};
  std::vector<at::Tensor> parts = random_parts(X, seed, true);
  for (at::Tensor& part : parts) part = whole ? part.mul(100).round().add(0.) : part;
  return parts;
}

Vector leaf(const Vector& x) { return {x.space(), x.local().detach().clone().requires_grad_()}; }

}  // namespace

ChannelRun::ChannelRun(const InterleavedProgram::Channel& channel, at::Device device, bool whole)
    : number_(channel.number),
      options_(at::device(device).dtype(channel.single ? at::kFloat : at::kDouble)),
      chain_(channel.number) {
  chain_.leave();
  RandomSpaces random(channel.seed);
  moves_ = random_program(random, false, static_cast<int>(channel.moves));
  for (std::size_t i = 0; i < channel.moves; ++i)
    factors_.push_back(std::array{-1., 1., 2.}[static_cast<std::size_t>(random.any_of(3))]);
  for (std::size_t i = 0; i < channel.asides; ++i)
    asides_.push_back(random_program(random, false, 1).front());
  x_parts_ = some_parts(moves_.front().domain(), channel.seed, whole);
  ybar_parts_ = some_parts(dual(moves_.back().range()), channel.seed + 1, whole);
  x_ = leaf(here_of(moves_.front().domain(), x_parts_));
  y_ = *x_;
}

Vector ChannelRun::zeros(const Space& X) const { return {X, at::zeros(X.local_shape(), options_)}; }

Vector ChannelRun::here_of(const Space& X, const std::vector<at::Tensor>& parts) const {
  return parts.empty() ? zeros(X) : Vector(X, part_of(X, parts).local().to(options_.device()));
}

Vector ChannelRun::fitting(const Space& X) const {
  if (y_->space() == X || !Simulation::running()) return *y_;
  return leaf(zeros(X));
}

void ChannelRun::carry_out(const Act& act) {
  const Chain::Scope in(chain_);
  switch (act.kind) {
    case ActKind::call:
      y_ = factors_[act.of] * moves_[act.of](fitting(moves_[act.of].domain()));
      break;
    case ActKind::start:
      pending_.emplace(act.of, moves_[act.of].start(fitting(moves_[act.of].domain())));
      break;
    case ActKind::wait:
      y_ = factors_[act.of] * pending_.at(act.of).wait();
      break;
    case ActKind::begin_aside:
      begin_aside(act.of);
      break;
    case ActKind::wait_aside:
      pending_asides_.at(act.of).wait();
      break;
    case ActKind::drop_aside:
      pending_asides_.erase(act.of);
      break;
    case ActKind::back:
      back();
  }
}

void ChannelRun::begin_aside(std::size_t aside) {
  pending_asides_.emplace(aside, asides_[aside].start(leaf(zeros(asides_[aside].domain()))));
}

/// The gradient of y and, of its part of the way, of x, so that both accumulate.
void ChannelRun::back() {
  y_ = fitting(moves_.back().range());
  const Vector ybar = here_of(dual(y_->space()), ybar_parts_);
  backward({*y_, *x_}, {ybar, {dual(x_->space()), x_->local().detach()}});
}

std::vector<at::Tensor> ChannelRun::results() const {
  return {y_->local().detach().cpu(), gradient(*x_).local().cpu()};
}

void ChannelRun::expect_meaning() const {
  const Space& X = x_->space();
  const Space& Y = y_->space();
  SCOPED_TRACE("channel " + std::to_string(number_) + ": " + to_string(composed(moves_)));
  double factor = 1;
  for (const double each : factors_) factor *= each;
  const std::vector<at::Tensor> ys = all_parts(Y.partition(), y_->local().detach());
  if (Y.partition().active()) {
    EXPECT_TRUE(at::equal(meant(Y, ys), meant(X, x_parts_).mul(factor)));
  }
  const std::vector<at::Tensor> bars =
      all_parts(X.partition(), gradient(*x_).local().sub(x_->local().detach()));
  if (X.partition().active()) {
    EXPECT_TRUE(at::equal(meant(dual(X), bars), meant(dual(Y), ybar_parts_).mul(factor)));
  }
}

std::vector<std::unique_ptr<ChannelRun>> channels_of(const InterleavedProgram& program) {
  std::vector<std::unique_ptr<ChannelRun>> channels;
  for (const InterleavedProgram::Channel& channel : program.channels)
    channels.push_back(std::make_unique<ChannelRun>(channel));
  return channels;
}

void carry_out(const InterleavedProgram& program, int rank,
               std::vector<std::unique_ptr<ChannelRun>>& channels) {
  const std::vector<std::vector<Act>>& threads = program.acts[static_cast<std::size_t>(rank)];
  const auto in_thread = [&](std::size_t thread) {
    std::minstd_rand own(static_cast<unsigned>(program.seed * 100 + thread * 10) +
                         static_cast<unsigned>(rank) + 1);
    for (const Act& act : threads[thread]) {
      for (auto left = Simulation::running() ? 0 : own() % 6; left > 0; --left) std::this_thread::yield();
      channels[act.channel]->carry_out(act);
    }
  };
  std::vector<std::unique_ptr<Thread>> others;
  for (std::size_t thread = 1; thread < threads.size(); ++thread)
    others.push_back(std::make_unique<Thread>([&in_thread, thread] { in_thread(thread); }));
  in_thread(0);
  for (const auto& thread : others) thread->join();
}

}  // namespace riesz::testing
