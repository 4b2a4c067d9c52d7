// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/measured.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/recompute/save_watch.h"
#include "riesz/nn/result_watch.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

/// Which module is under way, and since when; its time is the module's.
class StopWatch {
 public:
  explicit StopWatch(std::map<std::string, double>& times) : times_(times) {}

  /// From now on this module is under way; none: the watch rests.
  void turn_to(const Origin* module) {
    const Clock::time_point now = Clock::now();
    if (under_way_) times_[*under_way_] += std::chrono::duration<double>(now - since_).count();
    under_way_ = module == nullptr ? std::nullopt : std::optional(module->layer);
    since_ = now;
  }
  bool rests() const { return !under_way_; }

 private:
  std::map<std::string, double>& times_;
  std::optional<std::string> under_way_;
  Clock::time_point since_;
};

/// Of a model's parameters, what they lie in. Collective, as their values are.
std::set<const c10::StorageImpl*> memory_of(const Module& model) {
  const at::NoGradGuard no_gradient;
  std::set<const c10::StorageImpl*> memory;
  for (const Parameter& parameter : model.parameters())
    memory.insert(parameter.value().local().storage().unsafeGetStorageImpl());
  for (const LentParameter& lent : model.lent())
    memory.insert(lent.owner.value().local().storage().unsafeGetStorageImpl());
  return memory;
}

/// What the modules of a micro-batch take. Marks in the chain where modules begin and end, so backward tells
/// when it goes through them: first to the end, then to the beginning.
class ModuleCosts : public LayerObserver, public detail::SaveWatch, public detail::ResultWatch {
 public:
  explicit ModuleCosts(const std::set<const c10::StorageImpl*>& weights)
      : times_(std::make_shared<Times>()), weights_(weights) {}

  void entered(const std::shared_ptr<const Origin>& origin) override {
    mark(innermost());
    inside_.push_back(origin != nullptr && origin->phase == Phase::forward ? origin : nullptr);
    turn();
  }

  void left() noexcept override {
    const std::shared_ptr<const Origin> ended = innermost();
    if (!inside_.empty()) inside_.pop_back();
    turn();
    if (std::uncaught_exceptions() == 0) mark(ended);
  }

  /// Of the module that is under way forward; once, whoever saves it again.
  void saves(const at::Tensor& tensor) override {
    const auto module = innermost();
    if (module == nullptr || !times_->backward.rests() || !tensor.has_storage()) return;
    const at::Storage& memory = tensor.storage();
    const c10::StorageImpl* place = memory.unsafeGetStorageImpl();
    if (weights_.contains(place) || !seen_.emplace(place, memory.getWeakStorageImpl()).second) return;
    kept_[module->layer] += static_cast<double>(memory.nbytes());
  }

  void gave(const Module& module, const std::vector<Vector>& ys) override {
    if (!times_->backward.rests()) return;
    for (const Vector& y : ys) given_[&module] += static_cast<double>(y.local().nbytes());
  }

  void add_to(CostTree& tree) const;

 private:
  struct Times {
    std::map<std::string, double> seconds;
    StopWatch forward{seconds};
    StopWatch backward{seconds};
  };

  std::shared_ptr<const Origin> innermost() const { return inside_.empty() ? nullptr : inside_.back(); }

  /// What backward enters for its own work, or again, is in its time already.
  void turn() const { times_->forward.turn_to(times_->backward.rests() ? innermost().get() : nullptr); }

  /// What is recorded before it is of this module.
  void mark(const std::shared_ptr<const Origin>& before) const {
    Chain* chain = Chain::current();
    if (chain == nullptr || !at::GradMode::is_enabled()) return;
    chain->on_backward([times = times_, before] { times->backward.turn_to(before.get()); });
  }

  std::shared_ptr<Times> times_;  // backward may come later
  std::vector<std::shared_ptr<const Origin>> inside_;
  const std::set<const c10::StorageImpl*>& weights_;
  std::map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>>
      seen_;  // no other gets its place
  std::map<std::string, double> kept_;
  std::map<const Module*, double> given_;
};

/// The module of this path, or the one that has it; nothing is of the root but what has its very path.
CostTree* module_of(CostTree& tree, const std::string& path) {
  if (path == tree.path) return &tree;
  for (CostTree& child : tree.children) {
    if (path == child.path || path.starts_with(child.path + ".")) return module_of(child, path);
  }
  return path.starts_with(tree.path + ".") ? &tree : nullptr;
}

void ModuleCosts::add_to(CostTree& tree) const {
  for (const auto& [path, time] : times_->seconds)
    if (CostTree* module = module_of(tree, path)) module->own.time += time;
  for (const auto& [path, bytes] : kept_)
    if (CostTree* module = module_of(tree, path)) module->own.activations += bytes;
  for (const auto& [given_by, bytes] : given_) {
    CostTree* module = module_of(tree, given_by->path());
    if (module != nullptr && module->path == given_by->path())
      module->output = std::max(module->output, bytes);  // a part without a name has its owner's
  }
}

void add_costs(CostTree& tree, std::vector<double*>& costs) {
  for (double* cost : {&tree.own.time, &tree.own.activations, &tree.output}) costs.push_back(cost);
  for (CostTree& child : tree.children) add_costs(child, costs);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CostTree measured(const Module& model, const std::function<void()>& micro_batch, const Partition& workers,
                  const MeasureOptions& options) {
  RIESZ_CHECK(options.warm_up >= 0 && options.repeats >= 1, "Measuring ", options.repeats,
              " micro-batches after ", options.warm_up, "; it takes 1 at least");
  CostTree tree = cost_tree(model);
  std::vector<double*> costs;
  add_costs(tree, costs);
  for (int i = 0; i < options.warm_up; ++i) micro_batch();
  const std::set<const c10::StorageImpl*> weights = memory_of(model);
  std::vector<std::vector<double>> each(costs.size());
  for (int i = 0; i < options.repeats; ++i) {
    for (double* cost : costs) *cost = 0;
    const ModuleCosts watch(weights);
    micro_batch();
    watch.add_to(tree);
    for (std::size_t c = 0; c < costs.size(); ++c) each[c].push_back(*costs[c]);
  }
  std::vector<double> here;
  for (const std::vector<double>& of : each) here.push_back(median(of));
  std::vector<std::string> axes;
  for (const Axis& axis : workers.axes()) axes.push_back(axis.name);
  const at::Tensor agreed = all_max(workers, axes, at::tensor(here, at::dtype(at::kDouble)));
  for (std::size_t c = 0; c < costs.size(); ++c) *costs[c] = agreed.const_data_ptr<double>()[c];
  return tree;
}

}  // namespace riesz
