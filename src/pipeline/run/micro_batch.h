// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "riesz/partition/vector.h"
#include "riesz/pipeline/run/passages.h"
#include "riesz/pipeline/run/routine.h"
#include "riesz/pipeline/run/run_channels.h"
#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

class Stages;

/// Such as "forward of micro-batch 2 in chunk 1 (stage 1)": chunk c of a schedule is the model's stage c.
std::string place_of(const Action& action);

/// How micro-batches are run.
struct MicroBatchOptions {
  const RunChannels* channels;
  bool backward = true;        ///< do gradients follow?
  bool weights_apart = false;  ///< have the gradients of weights turns of their own?
  /// Chunks and micro-batches whose regions run again at turns of their own, where the schedule says of all
  /// which do: regions of others are plain calls. Nothing: regions run again as backward comes to them.
  std::optional<std::set<std::pair<int, std::int64_t>>> recompute = {};
  const Stages* stages = nullptr;  ///< of the model
  bool comes_back = true;          ///< have the rows a place for a chunk's second visit?
};

/// One micro-batch on this worker: the model's own forward, and the way back through its passages. It stops
/// where a chunk of this worker's begins, until it is told that its turn has come, and where it would wait
/// for a message. Between turns it passes through the chunks that lie elsewhere, starts what is sent and
/// received at their boundaries, and computes nothing.
///
/// Its messages are in a channel of their own, in the order of its program, which is the same on all workers.
/// Micro-batches take turns by the schedule, each worker's in an order of its own.
class MicroBatch {
 public:
  enum class State {
    outside,  ///< may go on: it is in none of this worker's chunks
    turn,     ///< stands before a chunk of this worker's: its turn has to come
    waiting,  ///< for messages; in a turn, if `in_turn()`
    ended,
  };

  /// `forward` gives the loss, if there is one. `options` must live as long.
  MicroBatch(std::int64_t number, const MicroBatchOptions& options,
             std::function<std::optional<Vector>()> forward);

  std::int64_t number() const { return number_; }
  State state() const { return state_; }
  bool in_turn() const { return in_turn_; }
  /// Does it stand before this one, forward or backward?
  bool stands_before(const Action& action) const;
  /// The turns that it has had.
  int turns() const { return turns_; }
  bool through_forward() const { return through_forward_; }
  /// Has it been in a chunk of this worker's twice?
  bool comes_back() const { return passages_.comes_back(); }
  /// Where it is, as `place_of` says it.
  std::string where() const;
  /// World ranks of those whose messages it waits for.
  std::vector<int> waits_for() const;
  /// What the model's own code waits for; empty: for nothing.
  const std::string& awaited_by_model() const { return of_model_.operation; }
  /// What it waits for, in words; empty: for nothing.
  std::string awaits() const;
  /// Has all come that it waits for? Moves it on.
  bool ready();
  /// Goes on, where it is ready, until it stops again. @throws what was thrown there, as an Error that says
  /// where (`throw_on`).
  void resume();
  /// Adds the gradients of a chunk's weights, which backward has put off.
  void weights(int chunk);
  /// Runs the regions of a chunk again, ahead of its backward.
  void run_again(int chunk);

  /// The loss, detached; where it lies, and if it is through with forward.
  const std::optional<Vector>& loss() const { return loss_; }

 private:
  class Boundary;
  class Outside;

  void run(const std::function<std::optional<Vector>()>& forward);
  void enter(int chunk, const Partition& home, const std::vector<Vector*>& arguments,
             const std::vector<Space>& targets);
  void check_comes_back(int chunk) const;
  void begin_passage(int chunk, const Partition& home);
  void end_passage();
  Arrival* bring(const Vector& x, const Space& target);
  void check_not_mixed(const Vector& x);
  void seed(const Vector& loss);
  void back_through(std::size_t passage);
  void go_back(Passage& passage, const std::vector<Vector>& ys, const std::vector<Vector>& ybars);
  void send_back(Passage& passage);
  void await_turn(Pass pass, int chunk);
  void await_messages();
  void leave_scopes();
  void stop(State state);

  std::int64_t number_;
  int channel_;
  int channel_of_regions_;  // which run again when the others of the stage do, wherever the program is
  const MicroBatchOptions& options_;
  State state_ = State::outside;
  bool in_turn_ = false;
  Pass pass_ = Pass::idle;  // the last one that it stood before
  int chunk_ = 0;
  int turns_ = 0;
  bool through_forward_ = false;
  struct Awaited {
    Pending* coming;  ///< x, or in backward its gradient
    const Vector* x;
    std::optional<int> chunk;  ///< from which; nothing: what the program was given
  };
  std::vector<Awaited> awaited_;
  /// What the model's own code waits for.
  struct OfModel {
    std::string operation;
    std::function<bool()> done;
    std::function<std::vector<int>()> waits_for;
  };
  OfModel of_model_;
  Passages passages_;
  std::shared_ptr<const std::uint64_t> chains_pass_ = Chain::new_pass();  // until all have gone backward
  std::optional<Vector> loss_;
  Routine routine_;  // last: it uses the others
};

}  // namespace riesz
