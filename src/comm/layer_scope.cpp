// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/layer_scope.h"

#include <exception>
#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/recording/recorder.h"

namespace riesz {
namespace {

thread_local std::shared_ptr<const Origin> innermost;
thread_local std::string thrown_from;
thread_local LayerObserver* observer = nullptr;
thread_local Phase forward_is = Phase::forward;

/// The phase is for who counts or records.
std::shared_ptr<const Origin> of_now(std::shared_ptr<const Origin> origin) {
  if (forward_is == Phase::forward || !origin || origin->phase != Phase::forward ||
      !(Counters::instance().recording() || Recorder::current() != nullptr))
    return origin;
  return std::make_shared<const Origin>(Origin{origin->layer, forward_is});
}

}  // namespace

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::recompute:
      return "recompute";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  return {};
}

LayerScope::LayerScope(std::string layer, Phase phase)
    : LayerScope(std::make_shared<const Origin>(Origin{std::move(layer), phase})) {}
LayerScope::LayerScope(std::shared_ptr<const Origin> origin)
    : outer_(std::exchange(innermost, of_now(std::move(origin)))), exceptions_(std::uncaught_exceptions()) {
  if (exceptions_ == 0) thrown_from.clear();
  if (observer != nullptr) observer->entered(innermost);
}
LayerScope::~LayerScope() {
  if (observer != nullptr) observer->left();
  if (std::uncaught_exceptions() > exceptions_ && thrown_from.empty() && innermost)
    thrown_from = innermost->layer;
  innermost = std::move(outer_);
}

std::string LayerScope::left_by_exception() { return thrown_from; }
PhaseScope::PhaseScope(Phase phase) : outer_(std::exchange(forward_is, phase)) {}
PhaseScope::~PhaseScope() { forward_is = outer_; }
Phase PhaseScope::current() { return forward_is; }

void LayerScope::forget_exception() { thrown_from.clear(); }
void LayerScope::leave_by_exception(std::string layer) { thrown_from = std::move(layer); }

std::shared_ptr<const Origin> LayerScope::current() { return innermost; }

LayerObserver::LayerObserver() : outer_(std::exchange(observer, this)) {}
LayerObserver::~LayerObserver() { observer = outer_; }

}  // namespace riesz
