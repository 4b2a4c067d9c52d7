// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A worker keeps as many chunks' activations at once as its schedule's table says: counted by tensors that
// autograd keeps.
#include "riesz/pipeline/schedule/under_way.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/between.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kWidth = 5;

/// Tensors that nobody else keeps alive, and the most that were at once.
class Alive {
 public:
  void add(const at::Tensor& x) {
    if (x.numel() == 0) return;
    seen_.push_back(x.storage().getWeakStorageImpl());
    most_ = std::max(most_, now());
  }
  int now() {
    std::erase_if(seen_, [](const auto& each) { return each.expired(); });
    return static_cast<int>(seen_.size());
  }
  int most() const { return most_; }

 private:
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> seen_;
  int most_ = 0;
};

/// A chunk: the linear layer keeps what it was given until its weight's gradient is computed.
class Chunk : public Layer<Chunk> {
 public:
  Chunk(OwnerAndName place, Alive& alive) : Layer(std::move(place)), alive_(alive) {}
  Vector forward(const Vector& x) {
    const Vector y = 2 * x;
    alive_.add(y.local());
    return linear_(y);
  }
  std::string describe() const override { return "chunk"; }

 private:
  Alive& alive_;
  Linear linear_{*this, "linear", "bc,cf->bf"};
};

class Chunks : public Layer<Chunks> {
 public:
  Chunks(const Stages& stages, Alive& alive) : Layer("", ModelSpaces(stages)) {
    for (int i = 0; i < stages.size(); ++i)
      chunks_.emplace_back(OwnerAndName(*this, "chunk." + std::to_string(i)), alive);
  }
  Vector forward(Vector x) {
    for (Chunk& chunk : chunks_) x = chunk(x);
    return x;
  }
  std::string describe() const override { return "chunks"; }

 private:
  std::deque<Chunk> chunks_;
};

/// Trains a step on stages of equal numbers of workers, and returns the most that this worker kept at once.
int most_kept(const Schedule& table) {
  const int workers = Runtime::size() / table.workers();
  const Partition mesh = Partition::world().grid({{"pp", table.workers()}, {"dp", workers}});
  std::vector<Layout> layouts;
  std::map<std::string, int> stage_of;
  for (const int worker : table.worker_of) {
    stage_of["chunk." + std::to_string(layouts.size())] = static_cast<int>(layouts.size());
    layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  }
  const Roles roles{{'b', {Role::batch}}, {'c', {Role::width, kWidth}}, {'f', {Role::whole, kWidth}}};
  Alive alive;
  Chunks model(Stages(layouts, roles, stage_of), alive);
  model.initialise(3, at::kDouble);
  Pipeline(model, table).train([&](std::int64_t) {
    const at::Tensor x = at::ones({workers, kWidth}, at::kDouble);
    return sum(model(distribute(model.spaces().stream("bc").with_shape({workers, kWidth}), x)), {},
               {.all_reduce = true});
  });
  EXPECT_EQ(alive.now(), 0) << "kept after the step";
  return alive.most();
}

TEST(UnderWay, IsTheTables) {
  for (const int pp : {2, 3, 4}) {
    if (Runtime::size() > 4 || Runtime::size() % pp != 0) continue;
    const int worker = Runtime::rank() / (Runtime::size() / pp);
    for (const std::string schedule :
         {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min"}) {
      SCOPED_TRACE(schedule + " of " + std::to_string(pp));
      const Schedule table = make_schedule(schedule, {.stages = pp, .micro_batches = 2 * pp});
      EXPECT_EQ(most_kept(table), under_way(table).activations[static_cast<std::size_t>(worker)]);
    }
  }
}

}  // namespace
}  // namespace riesz::testing
