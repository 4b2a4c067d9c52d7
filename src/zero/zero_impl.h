// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/zero/bucket.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/reductions.h"
#include "riesz/zero/units.h"
#include "riesz/zero/visits.h"
#include "riesz/zero/zero.h"

namespace riesz {

/// The inside of a Zero: the keeper that its parameters call, and the store that optimizers call. It lives as
/// long as a parameter, an optimizer or the Zero holds it.
struct Zero::Impl final : ParameterKeeper, Store {
  Impl(const std::vector<Parameter>& given, const Partition& workers, const ZeroOptions& chosen);

  // ParameterKeeper
  void use(std::size_t key) override;
  bool is_here(std::size_t key) const override {
    return buckets[place[key].first]->values().state() == Values::State::here;
  }
  at::Tensor gradient(std::size_t key) override;
  void set(std::size_t key, const at::Tensor& local) override;
  bool stays() const override { return !gathers_for_a_use(); }
  void gradient_to_come(std::size_t key) override { reductions->expect(plan.unit_of[key]); }
  void gradient_left(std::size_t key) override { reductions->left(plan.unit_of[key]); }
  void come(std::uint64_t run, std::int64_t times) override { reductions->come(run, times); }
  // Store
  std::vector<Share> shares() override;
  std::size_t parts() const override { return buckets.size(); }
  void spread(std::size_t part) override;
  void keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places) override;
  void cast_masters() override;
  State state() override;
  void zero_gradients() override;
  Holds holds() const override {
    if (live.values == Lifetimes::Values::always) return Holds::whole;
    return reductions->every_micro_batch() ? Holds::parts : Holds::whole_gradients;
  }
  bool reduced() const override { return reductions->reducing(); }
  const Partition& partition() const override { return workers; }

  static std::shared_ptr<Impl> make(const std::vector<Parameter>& given, const Partition& workers,
                                    const ZeroOptions& chosen);
  void check_values() const;
  void take_over(const std::shared_ptr<Impl>& self);
  std::shared_ptr<TeamMemory> memory_of(const std::vector<Bucket*>& team);
  void enter(std::size_t unit, std::optional<std::size_t> following);
  void fetch(std::size_t unit);
  bool gathers_for_a_use() const { return live.values == Lifetimes::Values::a_use; }
  void begin(std::int64_t i, std::int64_t of);
  std::int64_t rounds_come();
  std::optional<std::int64_t> most_waiting() const;
  at::Tensor gradient_so_far(Bucket& bucket, std::size_t k, std::int64_t rounds);

  ZeroOptions options;
  Lifetimes live;
  std::vector<Parameter> parameters;  // there may be none
  Partition workers;
  at::Device device = at::kCPU;  // of all parameters
  UnitPlan plan;
  std::vector<std::unique_ptr<Bucket>> buckets;
  std::vector<std::pair<std::size_t, std::size_t>> place;  // of each parameter: its bucket, its number there
  std::optional<Visits> visits;
  std::vector<std::size_t> fetched;  // units whose values are here or on their way, where they live a use

  bool alone = true;  // is each bucket this worker's alone, and are its gradients summed in their own type?
  std::optional<Reductions> reductions;
  std::int64_t passing_bytes = 0;
};

}  // namespace riesz
