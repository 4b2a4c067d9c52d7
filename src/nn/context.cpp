// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/context.h"

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local const ContextScope* innermost = nullptr;

}  // namespace

ContextScope::ContextScope(const Context& context) : context_(context), outer_(innermost) {
  RIESZ_CHECK(context.first_row >= 0 && (context.first_row == 0 || context.first_row <= context.rows),
              "Context: row ", context.first_row, " of a global batch of ", context.rows,
              "; `rows` says how many there are");
  innermost = this;
}

ContextScope::~ContextScope() { innermost = outer_; }

const Context* ContextScope::current() { return innermost == nullptr ? nullptr : &innermost->context_; }

}  // namespace riesz
