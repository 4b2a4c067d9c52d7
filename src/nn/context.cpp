// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/context.h"

#include <memory>

#include "riesz/comm/error.h"
#include "riesz/comm/thread_state.h"
#include "riesz/nn/call_state.h"

namespace riesz {
namespace {

[[maybe_unused]] const bool carried = carry_to_threads([]() -> ReopenOnThread {
  if (ContextScope::current() == nullptr) return {};
  return [context = *ContextScope::current()] { return std::make_shared<ContextScope>(context); };
});

}  // namespace

ContextScope::ContextScope(const Context& context) : context_(context), outer_(detail::call_state().context) {
  RIESZ_CHECK(
      context.first_row >= 0 && (context.first_row == 0 || context.first_row <= context.rows),
      "Context: row ", context.first_row, " of a global batch of ", context.rows,
      "; `rows` says how many rows the global batch has: of micro-batches the sum, alike in the context "
      "of each, such as {.first_row = 4, .rows = 12}; leave both out where a call has the whole batch");
  detail::call_state().context = this;
}

ContextScope::~ContextScope() { detail::call_state().context = outer_; }

const Context* ContextScope::current() {
  const ContextScope* now = detail::call_state().context;
  return now == nullptr ? nullptr : &now->context_;
}

}  // namespace riesz
