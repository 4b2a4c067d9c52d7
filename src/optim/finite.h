// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// Are all gradients and terms of the shares finite, on all workers of P? The same answer on all of them.
/// Collective over P: one pass over them, and one AllMin of one number.
bool all_finite(const Partition& P, const std::vector<Share>& shares);

/// Is a flag of one element true on all workers of P? Without dims, where the flag lies. Collective over P:
/// one AllMin of one number.
at::Tensor all_over(const Partition& P, const at::Tensor& flag);
/// The norms of the shares' gradients and terms in fp64, a flat tensor where they lie. `order` 2 or infinity.
at::Tensor norms_there(const std::vector<Share>& shares, double order);

/// Checks gradients before a step. On the CPU it returns an undefined tensor.
/// @throws NotFiniteGradient naming `what` and the first parameter whose gradient is NaN or infinite on any
/// worker, alike on all of the store's workers. Collective over the store's partition, as all_finite. Nothing
/// moves where the store knows that gradients are finite (`Store::know_finite`, which clip_gradients and
/// LossScale call) and nothing has gone backward since. Then a worker checks only the gradients that the
/// program has changed since; it throws alone, while the others go on to their step. So a program that
/// changes gradients after clipping must itself keep them finite on all workers, or make all throw.
///
/// On a device it throws nothing, and returns a flag without dims, the same on all workers: true where all
/// gradients are finite, and `only_if` is true or undefined. An error about gradients is put off
/// (`check_later`), unless `only_if` is false. The one AllMin is made in any case, for no other worker knows
/// what a program has changed here.
at::Tensor check_finite(const std::function<std::string()>& what, Store& store,
                        const std::vector<Share>& shares, const at::Tensor& only_if);

}  // namespace riesz
