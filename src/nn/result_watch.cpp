// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/result_watch.h"

#include <utility>

#include "riesz/nn/call_state.h"

namespace riesz::detail {

ResultWatch::ResultWatch() : outer_(std::exchange(call_state().result_watch, this)) {}
ResultWatch::~ResultWatch() { call_state().result_watch = outer_; }

ResultWatch* ResultWatch::current() { return call_state().result_watch; }

}  // namespace riesz::detail
