// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// Are all gradients and terms of the shares finite, on all workers of P? The same answer on all of them.
/// Collective over P: one pass over them, and one AllMin of one number.
bool all_finite(const Partition& P, const std::vector<Share>& shares);

/// The same, known to the gradients' device alone: `first` by one AllMin of one number. One pass over them;
/// the host does not wait.
KnownThere finite_there(const Partition& P, const std::vector<Share>& shares);
/// Is a flag of one element true on all workers of P? Without dims, where the flag lies. Collective over P:
/// one AllMin of one number.
at::Tensor all_over(const Partition& P, const at::Tensor& flag);
/// The number of the first of some numbers, a flat tensor, that is not finite on any worker of P, without
/// dims. Collective over P: one AllMin of one number.
at::Tensor first_not_finite_there(const Partition& P, const at::Tensor& numbers);
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
/// On a device it throws nothing, and returns a flag without dims, which is true where all are finite. The
/// error is put off (`check_later`).
at::Tensor check_finite(const std::string& what, Store& store, const std::vector<Share>& shares);

}  // namespace riesz
