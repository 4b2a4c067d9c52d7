// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// The passes of one micro-batch in one chunk of the model.
enum class Pass : std::uint8_t {
  idle,
  forward,
  backward,          ///< of inputs and of weights at once
  backward_inputs,   ///< the gradient of what the chunk was given: the chunk before it waits for that
  backward_weights,  ///< the gradients of the chunk's weights: nobody waits for them
  recompute,         ///< the forward pass again, of which only the input was kept
};

/// One cell of a table.
struct Action {
  Pass pass = Pass::idle;
  int chunk = 0;        ///< of the model, in the order of the forward pass; the last one computes the loss
  int micro_batch = 0;  ///< from 0
  int version = 0;      ///< of the chunk's weights, that it reads: how many updates they have had
  bool update = false;  ///< after it the chunk's weights are updated by the gradients since their last update

  bool operator==(const Action&) const = default;
};

/// A pipeline's schedule: what each worker does, one action after another. A worker here is all who have the
/// same chunks: one process, or a team that shares them by data or tensor parallelism. The table says all
/// that a pipeline decides; when things arrive decides nothing. It is plain data: made by a function
/// (makers.h), read from a file (csv.h) or written by hand; `verify` tells whether it can be run, `simulate`
/// how long it takes, `draw` shows it.
struct Schedule {
  std::vector<int> worker_of;  ///< of each chunk
  int micro_batches = 0;
  std::vector<std::vector<Action>> rows;  ///< of each worker; its place in the row is an action's slot

  int workers() const { return static_cast<int>(rows.size()); }
  int chunks() const { return static_cast<int>(worker_of.size()); }
  bool operator==(const Schedule&) const = default;
};

/// Where chunks lie. Looped: chunk c on worker c mod p, so that each has `chunks` of them; @post looped(p,
/// 1)[c] = c.
std::vector<int> looped(int workers, int chunks);
/// V-shaped, two chunks a worker: chunk c on worker c, and chunk 2p − 1 − c too: the first worker has the
/// loss.
std::vector<int> v_shaped(int workers);

/// The letter of a pass: F, B, I (of inputs), W (of weights), R; '.' is idle.
char letter(Pass pass);

/// Its name in words: "forward", "backward", "backward of inputs", "backward of weights", "recompute",
/// "idle".
const char* name_of(Pass pass);

/// An action as a cell of a CSV file: chunk, letter, micro-batch; then @version unless 0; then + if it
/// updates. "" is idle.
std::string to_string(const Action& action);

/// The same table with the forward passes alone, for evaluation: in the same order and on the same workers.
Schedule forward_only(const Schedule& schedule);

/// How often a worker sends to another one in a run of the table. It sends each chunk's result to the chunk
/// after it, and its input's gradient to the chunk before it, where that lies elsewhere. 2m(p − 1) with a
/// chunk a worker.
std::int64_t messages(const Schedule& schedule);

}  // namespace riesz
