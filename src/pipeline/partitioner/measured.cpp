// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/measured.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <c10/core/Event.h>

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

/// A point of time: of the host's clock, or when a device's current stream comes to what is queued next. The
/// device is not waited for.
class Instant {
 public:
  explicit Instant(at::Device device) {
    if (device.is_cpu()) return;
    // Such an event takes times; others, as LibTorch makes them, need not.
    there_ = std::make_shared<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    there_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  }

  /// In seconds. Waits for the device.
  double since(const Instant& before) const {
    if (!there_) return std::chrono::duration<double>(here_ - before.here_).count();
    for (const Instant* each : {&before, this}) each->there_->synchronize();
    return before.there_->elapsedTime(*there_) / 1000;
  }

 private:
  std::chrono::steady_clock::time_point here_ = std::chrono::steady_clock::now();
  std::shared_ptr<c10::Event> there_;  // nullptr on the CPU
};

/// Which module is under way, and since when; its time is the module's.
class StopWatch {
 public:
  explicit StopWatch(at::Device device) : device_(device) {}

  /// From now on this module is under way; none: the watch rests.
  void turn_to(const Origin* module) {
    turns_.push_back({module == nullptr ? std::nullopt : std::optional(module->layer), Instant(device_)});
  }
  bool rests() const { return turns_.empty() || !turns_.back().module; }

  /// What passed between turns, by module.
  void add_to(std::map<std::string, double>& times) const {
    for (std::size_t i = 0; i + 1 < turns_.size(); ++i) {
      if (turns_[i].module) times[*turns_[i].module] += turns_[i + 1].begins.since(turns_[i].begins);
    }
  }

 private:
  struct Turn {
    std::optional<std::string> module;
    Instant begins;
  };
  at::Device device_;
  std::vector<Turn> turns_;
};

/// Where a model computes.
at::Device device_of(const Module& model) {
  const std::vector<Parameter> parameters = model.parameters();
  return parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
}

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
  ModuleCosts(const std::set<const c10::StorageImpl*>& weights, at::Device device)
      : device_(device), times_(std::make_shared<Times>(device)), weights_(weights) {}

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
    explicit Times(at::Device device) : forward(device), backward(device) {}
    StopWatch forward, backward;
  };

  std::shared_ptr<const Origin> innermost() const { return inside_.empty() ? nullptr : inside_.back(); }

  /// What backward enters for its own work, or again, is in its time already.
  void turn() const { times_->forward.turn_to(times_->backward.rests() ? innermost().get() : nullptr); }

  /// What is recorded before it is of this module.
  void mark(const std::shared_ptr<const Origin>& before) const {
    Chain* chain = Chain::current();
    if (chain == nullptr || !at::GradMode::is_enabled()) return;
    chain->on_backward([times = times_, before] { times->backward.turn_to(before.get()); }, device_);
  }

  at::Device device_;
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
  std::map<std::string, double> seconds;
  times_->forward.add_to(seconds);
  times_->backward.add_to(seconds);
  for (const auto& [path, time] : seconds)
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
  const at::Device device = device_of(model);
  std::vector<std::vector<double>> each(costs.size());
  for (int i = 0; i < options.repeats; ++i) {
    for (double* cost : costs) *cost = 0;
    const ModuleCosts watch(weights, device);
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
