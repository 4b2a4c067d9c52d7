// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/call_scope.h"

#include <utility>

#include "riesz/comm/trace/range.h"

namespace riesz {
namespace {

thread_local int calls_under_way = 0;
thread_local std::shared_ptr<const void> outermost_call;

}  // namespace

CallScope::CallScope(std::shared_ptr<const Origin> origin) : layer_(std::move(origin)) {
  ++calls_under_way;
  if (RangeSink* sink = range_sink())
    sink->begin(RangeKind::layer, name_of_layer(LayerScope::current().get()), {});
}

CallScope::~CallScope() {
  if (RangeSink* sink = range_sink()) sink->end();
  if (--calls_under_way == 0) outermost_call.reset();
}

std::shared_ptr<const void> CallScope::outermost() {
  if (calls_under_way > 0 && !outermost_call) outermost_call = std::make_shared<const char>();
  return outermost_call;
}

}  // namespace riesz
