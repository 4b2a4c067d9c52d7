// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/call_scope.h"

#include <utility>

#include "riesz/comm/trace/range.h"
#include "riesz/nn/call_state.h"
#include "riesz/nn/offload/activation_offload.h"

namespace riesz {

CallScope::CallScope(std::shared_ptr<const Origin> origin) : layer_(std::move(origin)) {
  detail::CallState& state = detail::call_state();
  if (state.offload != nullptr) state.offload->begin(LayerScope::current()->layer);
  ++state.calls;
  if (RangeSink* sink = range_sink())
    sink->begin(RangeKind::layer, name_of_layer(LayerScope::current().get()), {});
}

CallScope::~CallScope() {
  if (RangeSink* sink = range_sink()) sink->end();
  detail::CallState& state = detail::call_state();
  if (state.offload != nullptr) state.offload->end();
  if (--state.calls == 0) state.outermost_call.reset();
}

std::shared_ptr<const void> CallScope::outermost() {
  detail::CallState& state = detail::call_state();
  if (state.calls > 0 && !state.outermost_call) state.outermost_call = std::make_shared<const char>();
  return state.outermost_call;
}

}  // namespace riesz
