// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/optim/group.h"
#include "riesz/optim/store.h"

namespace riesz {

/// A store divided among several optimizers: a store for each of `groups`, of the parameters that it has, and
/// a last one of those that no group has. Where several groups have a parameter, the first counts. Copies of
/// one weight (`several`) go with the first. All of them are on the workers of `store`, and keep state where
/// it does. Whatever keeps the values, such as one `Zero`, may so have two optimizers:
///
///     const auto stores = divided(zero.store(), {matrices()});
///     Lamb of_matrices(stores[0]);
///     AdamW of_others(stores[1]);
///     …
///     of_matrices.step();
///     of_others.step();
///     of_matrices.zero_gradients();  // gradients go when all of the stores were asked, in any order
///     of_others.zero_gradients();
///
/// Say where state lies before (`Store::keep_state_in`). Each store needs an optimizer that lets its
/// gradients go. Clip, unscale and decide for all of them by `several(stores)`, never by the store that is
/// divided. A part of the store that two of them share, such as a bucket of Zero, is spread after each one's
/// step, so what it gathers it gathers twice. As collective as `store->shares()`.
/// @throws Error if there is no group, or naming one that has no parameter. Also where masters are to lie
/// elsewhere.
std::vector<std::shared_ptr<Store>> divided(const std::shared_ptr<Store>& store,
                                            const std::vector<Which>& groups);

}  // namespace riesz
