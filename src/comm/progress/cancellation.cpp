// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/cancellation.h"

namespace riesz {
namespace {

thread_local std::shared_ptr<const Cancellation> cancellation_here;

}  // namespace

std::shared_ptr<const Cancellation> Cancellation::current() { return cancellation_here; }

CancellationScope::CancellationScope(std::shared_ptr<const Cancellation> inner)
    : outer_(std::exchange(cancellation_here, std::move(inner))) {}

CancellationScope::~CancellationScope() { cancellation_here = std::move(outer_); }

}  // namespace riesz
