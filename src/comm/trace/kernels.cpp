// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/trace/kernels.h"

#include <ATen/record_function.h>

#include <memory>

#include "riesz/comm/trace/range.h"

namespace riesz {
namespace {

thread_local int calls_inside = 0;

std::unique_ptr<at::ObserverContext> kernel_begins(const at::RecordFunction& call) {
  if (calls_inside++ > 0) return nullptr;
  if (RangeSink* sink = range_sink()) sink->begin(RangeKind::kernel, call.name(), {});
  return nullptr;
}

void kernel_ends(const at::RecordFunction& /*call*/, at::ObserverContext* /*of*/) {
  if (--calls_inside > 0) return;
  if (RangeSink* sink = range_sink()) sink->end();
}

}  // namespace

KernelRanges::KernelRanges()
    : callback_(at::addGlobalCallback(
          at::RecordFunctionCallback(kernel_begins, kernel_ends).scopes({at::RecordScope::FUNCTION}))) {}

KernelRanges::~KernelRanges() { at::removeCallback(callback_); }

}  // namespace riesz
