// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// The options of a table. 0 means the schedule's own choice.
struct ScheduleOptions {
  int stages = 1;           ///< workers, p
  int micro_batches = 1;    ///< m
  int chunks = 0;           ///< of each worker, v; own choice: 1, or 2 for interleaved and the V-shaped ones
  int group = 0;            ///< interleaved: micro-batches to a chunk's turn; own choice: p
  int update_interval = 0;  ///< two_bw, ampnet: gradients to an update; own choice: p
  int in_flight = 0;        ///< ampnet: micro-batches under way at most; own choice: p
  bool recompute = false;   ///< gpipe: all micro-batches but the last one
  Costs costs;              ///< varuna, ampnet, v_half, v_min: with which the order is found
};

/// The makers: pure functions, each the rule of its paper. Options that do not fit a schedule's rule throw an
/// Error that says what fits. p, m, v as above; F, B_i, W, R the times of the passes, B = B_i + W. Idle is
/// what a worker does nothing in a step; docs/reference/schedules.md draws each.
namespace schedules {

/// All forward passes, then all backward passes, in the order of the micro-batches. With recompute they go
/// back from the last to the first, so that the last one has its activations still: the others recompute.
/// Idle (p − 1)(F + B); m micro-batches are kept. Huang et al., 1811.06965.
Schedule gpipe(const ScheduleOptions& options);

/// PipeDream-flush: worker r goes min(m, p − r) forward, then one backward and one forward in turn. Idle as
/// gpipe; min(m, p − r) micro-batches are kept. Narayanan et al., 2006.09503.
Schedule one_f_one_b(const ScheduleOptions& options);

/// Megatron's: v chunks a worker, looped; chunks take turns after `group` micro-batches each; worker r goes
/// 2(p − r − 1) + (v − 1)·group forward to warm up. Idle (p − 1)(F + B), where F and B are of one chunk: 1/v
/// of a stage's. Needs p <= group <= m, and m mod group 0 or at least p. Narayanan et al., 2104.04473.
Schedule interleaved(const ScheduleOptions& options);

/// A worker that is free does weights, else a backward pass of inputs, else a recompute whose gradient has
/// arrived, else a forward pass; all recompute but the last worker. So while a gradient is awaited the next
/// forward pass is pulled ahead. With unit costs at most min(m, 3(p − 1 − r)) inputs are kept, and the slots
/// are the paper's. Run in order, a worker recomputes while it waits for the gradient, which is (p − 1)R
/// faster. Athlur et al., EuroSys 2022.
Schedule varuna(const ScheduleOptions& options);

/// 1F1B of inputs; worker r does weights r passes later. Idle (p − 1)(F + B_i − W); p micro-batches are kept
/// on every worker, for m >= p. Qi et al., 2401.10241.
Schedule zb_h1(const ScheduleOptions& options);

/// Worker r goes 2(p − r) − 1 forward first and does weights 2r passes later. Each worker waits (p − 1)(F +
/// B_i − 2W); 2p − 1 micro-batches are kept on every worker, for m >= 2p − 1. Qi et al., 2401.10241.
Schedule zb_h2(const ScheduleOptions& options);

/// Two chunks a worker, V-shaped. No worker waits if F = B_i = W; 2p chunks are kept on every worker, as much
/// as 1F1B's first. Qi et al., 2401.10241, §6.
Schedule zb_v(const ScheduleOptions& options);

/// Two chunks a worker, V-shaped, with about half the activations of 1F1B and at most half its idle. Qi et
/// al., 2405.15362.
Schedule v_half(const ScheduleOptions& options);

/// The same with about a third of the activations and at most two thirds of the idle.
Schedule v_min(const ScheduleOptions& options);

/// Asynchronous: 1F1B without end; every backward pass is followed by an update, and reads the weights that
/// its forward pass read, which are stashed: p − r versions on worker r. Narayanan et al., SOSP 2019.
Schedule pipedream(const ScheduleOptions& options);

/// Asynchronous: 1F1B without end; an update after every `update_interval` micro-batches (p at least), whose
/// weights are read from the second next ones on: two versions. W(t + 1) = W(t) − η∇f(W(t − 1)). Narayanan et
/// al., 2006.09503.
Schedule two_bw(const ScheduleOptions& options);

/// Asynchronous: every worker goes backward where it can, else forward, with at most `in_flight`
/// micro-batches under way. A chunk is updated after `update_interval` gradients (the paper's
/// min_update_interval). All passes read the newest weights: one version. Gaunt et al., 1705.09786.
Schedule ampnet(const ScheduleOptions& options);

}  // namespace schedules

}  // namespace riesz
