// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// x with its values in memory: applies a conjugation, a negation or zeros that LibTorch has deferred.
/// Returns x itself if nothing is deferred. A tensor is resolved before it is sent or read by its address.
at::Tensor resolved(const at::Tensor& x);

/// True if x is contiguous and nothing is deferred: its memory holds the values of x one after another.
bool is_plain(const at::Tensor& x);

}  // namespace riesz
