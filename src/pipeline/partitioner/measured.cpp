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
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
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

/// Marks in the chain where modules begin and end, so backward tells when it goes through them: first to the
/// end, then to the beginning.
class ModuleTimes : public LayerWatch {
 public:
  ModuleTimes() : times_(std::make_shared<Times>()) {}

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

  const std::map<std::string, double>& seconds() const { return times_->seconds; }

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
};

/// The module of this path, or the one that has it; nothing is of the root but what has its very path.
CostTree* module_of(CostTree& tree, const std::string& path) {
  if (path == tree.path) return &tree;
  for (CostTree& child : tree.children) {
    if (path == child.path || path.starts_with(child.path + ".")) return module_of(child, path);
  }
  return path.starts_with(tree.path + ".") ? &tree : nullptr;
}

void add(CostTree& tree, const std::map<std::string, double>& seconds) {
  for (const auto& [path, time] : seconds)
    if (CostTree* module = module_of(tree, path)) module->own.time += time;
}

void add_times(CostTree& tree, std::vector<double*>& times) {
  times.push_back(&tree.own.time);
  for (CostTree& child : tree.children) add_times(child, times);
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
  std::vector<double*> times;
  add_times(tree, times);
  for (int i = 0; i < options.warm_up; ++i) micro_batch();
  std::vector<std::vector<double>> each(times.size());
  for (int i = 0; i < options.repeats; ++i) {
    for (double* time : times) *time = 0;
    const ModuleTimes watch;
    micro_batch();
    add(tree, watch.seconds());
    for (std::size_t m = 0; m < times.size(); ++m) each[m].push_back(*times[m]);
  }
  std::vector<double> here;
  for (const std::vector<double>& of : each) here.push_back(median(of));
  std::vector<std::string> axes;
  for (const Axis& axis : workers.axes()) axes.push_back(axis.name);
  const at::Tensor agreed = all_max(workers, axes, at::tensor(here, at::dtype(at::kDouble)));
  for (std::size_t m = 0; m < times.size(); ++m) *times[m] = agreed.const_data_ptr<double>()[m];
  return tree;
}

}  // namespace riesz
