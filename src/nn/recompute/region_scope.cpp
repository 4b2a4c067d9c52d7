// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/region_scope.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/call_state.h"

namespace riesz {

RegionScope::RegionScope(Regions what)
    : what_(what), outer_(std::exchange(detail::call_state().regions, this)) {}

RegionScope::~RegionScope() {
  if (!left_) detail::call_state().regions = outer_;
}

RegionScope* RegionScope::current() { return detail::call_state().regions; }

void RegionScope::leave() {
  RIESZ_CHECK(!left_ && current() == this, "RegionScope::leave: this thread's innermost is another");
  detail::call_state().regions = std::exchange(outer_, nullptr);
  left_ = true;
}

void RegionScope::run_again() {
  for (const auto& again : std::exchange(again_, {})) again();
}

namespace detail {

InRegion::InRegion(std::string name)
    : name_(std::move(name)), outer_(std::exchange(call_state().region, this)) {}
InRegion::~InRegion() { call_state().region = outer_; }

const std::string* InRegion::name() {
  const InRegion* now = call_state().region;
  return now == nullptr ? nullptr : &now->name_;
}

}  // namespace detail
}  // namespace riesz
