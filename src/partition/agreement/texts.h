// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace riesz {

/// Gathers every worker's text, by rank. It exchanges their lengths first; then, unless all are empty, the
/// texts, padded to the longest. `exchange` gives a tensor to every worker and returns theirs, of the same
/// shape, by rank. Private to src/partition.
std::vector<std::string> exchange_texts(
    const std::string& mine, const std::function<std::vector<at::Tensor>(const at::Tensor& mine)>& exchange);

}  // namespace riesz
