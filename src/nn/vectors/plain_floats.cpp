// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/plain_floats.h"

#include <ATen/core/grad_mode.h>

namespace riesz::detail {

bool gradients_are_on() { return at::GradMode::is_enabled(); }

}  // namespace riesz::detail
