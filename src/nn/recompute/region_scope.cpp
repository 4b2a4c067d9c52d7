// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/region_scope.h"

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local RegionScope* innermost = nullptr;
thread_local const detail::InRegion* innermost_region = nullptr;

}  // namespace

RegionScope::RegionScope(Regions what) : what_(what), outer_(std::exchange(innermost, this)) {}

RegionScope::~RegionScope() {
  if (!left_) innermost = outer_;
}

RegionScope* RegionScope::current() { return innermost; }

void RegionScope::leave() {
  RIESZ_CHECK(!left_ && innermost == this, "RegionScope::leave: this thread's innermost is another");
  innermost = std::exchange(outer_, nullptr);
  left_ = true;
}

void RegionScope::run_again() {
  for (const auto& again : std::exchange(again_, {})) again();
}

namespace detail {

InRegion::InRegion(std::string name)
    : name_(std::move(name)), outer_(std::exchange(innermost_region, this)) {}
InRegion::~InRegion() { innermost_region = outer_; }

const std::string* InRegion::name() {
  return innermost_region == nullptr ? nullptr : &innermost_region->name_;
}

}  // namespace detail
}  // namespace riesz
