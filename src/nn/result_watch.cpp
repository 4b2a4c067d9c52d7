// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/result_watch.h"

#include <utility>

namespace riesz::detail {
namespace {

thread_local ResultWatch* innermost = nullptr;

}  // namespace

ResultWatch::ResultWatch() : outer_(std::exchange(innermost, this)) {}
ResultWatch::~ResultWatch() { innermost = outer_; }

ResultWatch* ResultWatch::current() { return innermost; }

}  // namespace riesz::detail
