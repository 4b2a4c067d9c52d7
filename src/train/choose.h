// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

/// The token whose part of [0, 1), by the softmax of logits/temperature, the uniform `draw` falls into; the
/// likeliest one where the temperature is 0. `logits`: (vocabulary).
std::int64_t choose(const at::Tensor& logits, double temperature, double draw);

}  // namespace riesz
