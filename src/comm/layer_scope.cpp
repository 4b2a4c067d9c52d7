// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/layer_scope.h"

#include <utility>

#include "riesz/comm/counters.h"

namespace riesz {
namespace {

thread_local std::shared_ptr<const Origin> innermost;

std::shared_ptr<const Origin> origin_of(std::string layer, Phase phase) {
  if (!Counters::instance().recording()) return nullptr;
  return std::make_shared<const Origin>(Origin{std::move(layer), phase});
}

}  // namespace

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  return {};
}

LayerScope::LayerScope(std::string layer, Phase phase) : LayerScope(origin_of(std::move(layer), phase)) {}
LayerScope::LayerScope(std::shared_ptr<const Origin> origin)
    : outer_(std::exchange(innermost, std::move(origin))) {}
LayerScope::~LayerScope() { innermost = std::move(outer_); }

std::shared_ptr<const Origin> LayerScope::current() { return innermost; }

}  // namespace riesz
