// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/application.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/trace/range.h"
#include "riesz/comm/wait.h"
#include "riesz/partition/participation.h"
#include "riesz/primitives/check_input.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {
namespace {

const Operation& merged_operation() {
  static const Operation together("Together");
  return together;
}

bool takes_part(const Primitive& step) {
  return step.domain().partition().active() || step.range().partition().active();
}

/// y has the shape of A's range.
void check_result(const Operator& A, const at::Tensor& y) {
  const at::IntArrayRef shape = A.range().local_shape();
  RIESZ_CHECK(y.sizes() == shape, to_string(A), ": a result of shape ", y.sizes(), " where the range ",
              to_string(A.range()), " has ", shape);
}

/// What a profile says of a step: what it is, and its spaces.
std::string detail_of(const Primitive& step) {
  return concat(to_string(step), "; ", to_string(step.domain()), " -> ", to_string(step.range()));
}

/// Of one step alone nothing has to be reserved before it is done, so no application is made.
at::Tensor applied_alone(const Operator& A, const Primitive& step, const at::Tensor& x) {
  detail::check_input(A, x);
  if (!takes_part(step)) return at::empty({0}, x.options());
  const Range range(RangeKind::operation, step.operation().name, [&] { return detail_of(step); });
  if (A.communicates()) count_participation(step.operation());
  if (const Rounds* rounds = step.sends() ? step.rounds() : nullptr)
    return execute(step.operation(), *rounds, resolved(x));
  at::Tensor y = step.apply(resolved(x));
  check_result(A, y);
  return y;
}

}  // namespace

Application::Application(const std::vector<Operator>& operators, const std::vector<at::Tensor>& xs)
    : Application(operators, xs, &merged_operation()) {}

Application::Application(c10::ArrayRef<Operator> operators, c10::ArrayRef<at::Tensor> xs,
                         const Operation* together)
    : operators_(operators), together_(together), values_(xs.begin(), xs.end()) {
  if (!xs.empty()) stream_ = DeviceStream(xs.front().device());
  std::size_t steps = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    detail::check_input(operators[i], values_[i]);
    steps = std::max(steps, operators[i].steps().size());
  }
  if (together_ == nullptr) ways_ = step_ways(operators.front(), values_.front());
  while (prepared_ < steps) {
    const bool now = prepare(prepared_++);
    if (now || prepared_ == steps) {
      begin_step();
      if (now) finish();
    }
  }
}

const Primitive* Application::step_of(std::size_t i, std::size_t step) const {
  const std::vector<Step>& steps = operators_[i].steps();
  return step < steps.size() ? steps[step].get() : nullptr;
}

/// Reserves what the step sends. Does a part of it have to be done now?
bool Application::prepare(std::size_t number) {
  bool now = false;
  c10::SmallVector<Execution::Move, 1> moves;
  c10::SmallVector<std::size_t, 1> of;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const Primitive* step = step_of(i, number);
    if (step == nullptr || !takes_part(*step)) continue;
    if (operators_[i].communicates()) count_participation(step->operation());
    if (!step->sends()) continue;
    if (const Rounds* rounds = step->rounds()) {
      moves.push_back({&step->operation(), rounds});
      of.push_back(i);
    } else {
      now = true;
    }
  }
  if (moves.empty()) return now;
  if (together_ != nullptr) {
    messages_.emplace_back(number, of, *together_, c10::ArrayRef<Execution::Move>(moves));
    return now;
  }
  messages_.emplace_back(number, of, *moves.front().operation, *moves.front().rounds);
  if (ways_[number] == StepWay::staged) messages_.back().execution.stage();
  return now || ways_[number] == StepWay::awaited;
}

Application::Messages* Application::messages_now() {
  return sent_ < messages_.size() && messages_[sent_].step == step_ ? &messages_[sent_] : nullptr;
}

const Primitive* Application::step_shown() const {
  const Primitive* step = together_ == nullptr && !operators_.empty() ? step_of(0, step_) : nullptr;
  return step != nullptr && takes_part(*step) ? step : nullptr;
}

void Application::begin_step() {
  std::optional<Range> range;
  if (range_sink() != nullptr) {
    const Primitive* step = step_shown();
    if (step != nullptr)
      range.emplace(RangeKind::operation, step->operation().name, [&] { return detail_of(*step); });
    else if (together_ != nullptr)
      range.emplace(RangeKind::operation, together_->name);
  }
  Messages* messages = messages_now();
  if (messages != nullptr) {
    Execution& execution = messages->execution;
    for (std::size_t k = 0; k < messages->of.size(); ++k)
      execution.give(k, resolved(values_[messages->of[k]]));
    execution.launch();
    execution.ring();
  }
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const Primitive* step = step_of(i, step_);
    if (step == nullptr) continue;
    if (!takes_part(*step))
      values_[i] = at::empty({0}, values_[i].options());
    else if (!step->sends() || step->rounds() == nullptr)
      values_[i] = step->apply(resolved(values_[i]));
  }
}

bool Application::step_done() {
  Messages* messages = messages_now();
  return messages == nullptr || messages->execution.progress();
}

void Application::end_step() {
  if (Messages* messages = messages_now()) {
    for (std::size_t k = 0; k < messages->of.size(); ++k)
      values_[messages->of[k]] = messages->execution.result(k);
    ++sent_;
  }
  ++step_;
  if (step_ < prepared_) begin_step();
}

bool Application::progress() {
  const DeviceStream::Scope queued(stream_);
  while (step_ < prepared_) {
    if (!step_done()) return false;
    end_step();
  }
  return true;
}

void Application::finish() {
  const DeviceStream::Scope queued(stream_);
  while (step_ < prepared_) {
    wait_until(
        operation(), [this] { return step_done(); }, [this] { return waits_for(); });
    end_step();
  }
}

const std::string& Application::operation() const {
  if (together_ != nullptr) return together_->text;
  const std::vector<Step>& steps = operators_.front().steps();
  return steps[std::min(step_, steps.size() - 1)]->operation().text;
}

std::vector<int> Application::waits_for() const {
  const bool waits = sent_ < messages_.size() && messages_[sent_].step == step_;
  return waits ? messages_[sent_].execution.waits_for() : std::vector<int>{};
}

at::Tensor Application::result(std::size_t i) {
  at::Tensor y = std::exchange(values_[i], at::Tensor());
  check_result(operators_[i], y);
  stream_.join();
  stream_.lend(y);
  return y;
}

at::Tensor applied(const Operator& A, const at::Tensor& x) {
  if (A.steps().size() == 1) return applied_alone(A, *A.steps().front(), x);
  Application application(A, x);
  application.finish();
  return application.result();
}

}  // namespace riesz
