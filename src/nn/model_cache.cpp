// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/model_cache.h"

#include <exception>

#include "riesz/nn/call_state.h"

namespace riesz {

void ModelCache::clear() {
  positions_ = 0;
  for (auto& [part, slot] : slots_)
    if (slot.state.has_value()) slot.clear(slot.state);
}

CacheScope::CacheScope(ModelCache& cache, std::int64_t positions)
    : cache_(cache),
      positions_(positions),
      exceptions_(std::uncaught_exceptions()),
      outer_(std::exchange(detail::call_state().cache, &cache)) {}

CacheScope::~CacheScope() {
  detail::call_state().cache = outer_;
  if (std::uncaught_exceptions() == exceptions_) cache_.positions_ += positions_;
}

ModelCache* CacheScope::current() { return detail::call_state().cache; }

std::int64_t first_position() {
  const ModelCache* now = CacheScope::current();
  return now == nullptr ? 0 : now->positions();
}

}  // namespace riesz
