// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/context.h"

#include <memory>

#include "riesz/comm/error.h"
#include "riesz/comm/thread_state.h"

namespace riesz {
namespace {

thread_local const ContextScope* innermost = nullptr;

[[maybe_unused]] const bool carried = carry_to_threads([]() -> ReopenOnThread {
  if (innermost == nullptr) return {};
  return [context = *ContextScope::current()] { return std::make_shared<ContextScope>(context); };
});

}  // namespace

ContextScope::ContextScope(const Context& context) : context_(context), outer_(innermost) {
  RIESZ_CHECK(
      context.first_row >= 0 && (context.first_row == 0 || context.first_row <= context.rows),
      "Context: row ", context.first_row, " of a global batch of ", context.rows,
      "; `rows` says how many rows the global batch has: of micro-batches the sum, alike in the context "
      "of each, such as {.first_row = 4, .rows = 12}; leave both out where a call has the whole batch");
  innermost = this;
}

ContextScope::~ContextScope() { innermost = outer_; }

const Context* ContextScope::current() { return innermost == nullptr ? nullptr : &innermost->context_; }

}  // namespace riesz
