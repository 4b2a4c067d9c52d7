// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/nn/parameter.h"

namespace riesz::detail {

/// The parameters of a norm of images, sharded as the channels are; each may be absent. Running moments are
/// not trained. `batches` is num_batches_tracked, an integer.
struct NormParameters {
  std::optional<Parameter> weight, bias, mean, variance, batches;
};

}  // namespace riesz::detail
