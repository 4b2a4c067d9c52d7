// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// x with its numbers in memory: a conjugate, a negative or zeros that LibTorch has put off are carried out.
/// x itself where nothing is put off. What is sent, and what is read by its address, is resolved first.
at::Tensor resolved(const at::Tensor& x);

/// Is x contiguous, with nothing put off: are the numbers in its memory those of x, one after another?
bool is_plain(const at::Tensor& x);

}  // namespace riesz
