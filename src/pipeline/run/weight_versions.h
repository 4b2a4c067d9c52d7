// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/pipeline/run/reading_leaf.h"
#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// Which values a worker's passes read, where the weights of its chunks are updated between them: those of
/// the version that the table says, forward and backward, whatever updates came since. The newest version
/// lies at the parameters, where optimizers step it. If an older version is still to be read, an update first
/// makes a copy of it, which lives until the last action that reads it has ended. So at a time there are as
/// many versions as the table has (`UnderWay::versions`), the newest among them, and one copy is made for
/// each that outlives its update.
///
/// Where a Zero of stage 1 or 2 keeps the parameters, an update trains pieces of them, and begins to gather
/// these at the parameters. The next pass that reads the newest version waits for them.
///
/// Each passage of a micro-batch through a chunk has leaves of its own. Their gradients are added up here, of
/// half types that `Zero` keeps in fp32; they are at the parameters while an update runs, and when this is
/// gone.
class WeightVersions {
 public:
  using Update = std::function<void(int chunk)>;

  /// The versions for a row, which must live as long, and the trained parameters of its chunks, by chunk.
  /// `update` is called after each action that says so, where the chunk has any.
  WeightVersions(const std::vector<Action>& row, const std::map<int, std::vector<Parameter>>& parameters,
                 Update update);
  ~WeightVersions();
  WeightVersions(const WeightVersions&) = delete;
  WeightVersions& operator=(const WeightVersions&) = delete;

  /// Before the action of this slot: from now on its chunk's modules read the version that it says.
  void begin(std::size_t slot);
  /// After it. @throws Error naming a parameter that has a gradient from elsewhere than its chunk's passes.
  void end(std::size_t slot);

  /// The most versions of a chunk's weights that there were at a time.
  int most() const { return most_; }

 private:
  struct One {
    Parameter parameter;
    at::Tensor newest;    // its own leaf, which it has between actions
    at::Tensor gradient;  // since the last update

    void use(const at::Tensor& leaf) { parameter.use_leaf(Vector(parameter.used_in(), leaf)); }
    void await();  // until the newest values are gathered
    void add(const at::Tensor& come);
  };
  struct Chunk {
    std::vector<One> all;
    int newest = 0;
    bool coming = false;                                 // may pieces of the newest still be on their way?
    std::map<int, std::vector<at::Tensor>> older;        // by version
    std::map<int, std::size_t> last_read;                // by version: the slot
    std::map<int, std::vector<ReadingLeaf>> of_passage;  // by micro-batch
  };

  void await(Chunk& chunk);
  void collect(const Action& action);
  void forget(Chunk& chunk, std::size_t slot);
  void make_next(Chunk& chunk, std::size_t slot);

  const std::vector<Action>& row_;
  std::map<int, Chunk> chunks_;
  Update update_;
  int most_ = 1;
};

}  // namespace riesz
