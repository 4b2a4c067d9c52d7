// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/contraction/faces.h"
#include "riesz/nn/contraction/plan.h"
#include "riesz/nn/contraction/shared_read.h"

namespace riesz::detail {

/// The queue of this thread's innermost `DeferredGradients`, or nullptr.
std::shared_ptr<DeferredQueue> current_queue();

/// Is the queue's scope still open? After its end nobody would compute what is put off.
bool is_open(DeferredQueue& queue);

/// Puts off the gradient in w of a contraction. It is computed from x and ȳ as stored, or as gathered where
/// they are gathered already. Contractions of one group read x once for all that is computed together.
void defer(DeferredQueue& queue, const ContractionPlan& plan, const at::Tensor& w, Operands stored,
           Operands gathered, std::shared_ptr<SharedRead> group);

}  // namespace riesz::detail
