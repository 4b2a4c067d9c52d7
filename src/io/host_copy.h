// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "riesz/partition/interval.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Rows of which each host has one copy: the workers of P that are on a host fill balanced pieces of it, by
/// their order, and then all read it where it lies. Among them that is Sharded(0) → Replicated, but nothing
/// is sent, for a piece is written where the whole is read.
///
/// `fill(rows, piece)` writes piece = whole[rows], the same on whatever worker it is called for these rows,
/// since each host fills its own copy. Afterwards nobody writes: where several workers read, that ends the
/// program (SIGSEGV). With RIESZ_TRANSPORT=mpi no memory is shared, and each worker fills a copy of its own.
///
/// Collective over P; nobody returns before the whole is there. Nothing moves but a text from each worker to
/// each, counted as "CheckAlike".
/// @throws Error on all workers, the same: that of the first whose `fill` throws one, or for whose host the
/// system gives no memory to share.
at::Tensor host_copy(const Partition& P, at::IntArrayRef shape, at::ScalarType type,
                     const std::function<void(const Interval& rows, const at::Tensor& piece)>& fill);

/// How many workers of P have one copy together with this one, itself counted. Local.
int holders_of_host_copy(const Partition& P);

}  // namespace riesz
