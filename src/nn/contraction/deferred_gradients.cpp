// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/deferred_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/trace/range.h"
#include "riesz/nn/call_state.h"
#include "riesz/nn/contraction/deferral.h"

namespace riesz {
namespace {

struct Job {
  detail::ContractionPlan plan;
  at::Tensor w;
  detail::Operands stored, gathered;
  std::shared_ptr<detail::SharedRead> group;  // of others that read x alike, or nullptr
  std::shared_ptr<const Origin> origin;
};

/// What is gathered of x for a group's jobs, until the last of them.
struct ForGroup {
  std::size_t jobs = 0;
  at::Tensor gathered;
};

using Groups = std::map<const detail::SharedRead*, ForGroup>;

Groups groups_of(const std::vector<Job>& jobs) {
  Groups groups;
  for (const Job& job : jobs)
    if (job.group) ++groups[job.group.get()].jobs;
  return groups;
}

at::Tensor gradient_of(Job& job, Groups& groups) {
  const LayerScope layer(job.origin);
  const Range range(RangeKind::layer, name_of_layer(job.origin.get()),
                    [] { return "backward of the weight"; });
  ForGroup* others = job.group ? &groups.at(job.group.get()) : nullptr;
  if (others && others->gathered.defined()) job.gathered[0] = others->gathered;
  job.stored[1] = job.w;
  const at::Tensor wbar = detail::faces(job.plan, {1}, job.stored, job.gathered)[1];
  if (others) others->gathered = --others->jobs > 0 ? job.gathered[0] : at::Tensor();
  return wbar;
}

void add_gradient(Job& job, Groups& groups) {
  const at::Tensor wbar = gradient_of(job, groups);
  if (!job.w.requires_grad()) return;
  at::Tensor& sum = job.w.mutable_grad();
  if (sum.defined())
    sum.add_(wbar);
  else
    sum = at::empty_like(job.w).copy_(wbar);  // lies in memory as the weight, as optimizers expect
}

/// What is called when so many of the jobs are done.
struct Then {
  std::size_t after;
  std::function<void()> call;
};

}  // namespace

struct detail::DeferredQueue {
  std::mutex mutex;  // backward may run on the engine's threads
  std::vector<Job> jobs;
  std::vector<Then> thens;
  bool closed = false;  // its scope has ended
};

DeferredGradients::DeferredGradients()
    : queue_(std::make_shared<detail::DeferredQueue>()),
      outer_(std::exchange(detail::call_state().deferred, queue_)) {}

DeferredGradients::~DeferredGradients() {
  if (!left_) detail::call_state().deferred = outer_;
  std::vector<Then> dropped;  // outside of the lock
  const std::lock_guard lock(queue_->mutex);
  queue_->closed = true;
  queue_->jobs.clear();
  dropped.swap(queue_->thens);
}

DeferredGradients::Queue DeferredGradients::current() { return detail::call_state().deferred; }

void DeferredGradients::after_these(const Queue& queue, std::function<void()> then) {
  {
    const std::lock_guard lock(queue->mutex);
    if (!queue->closed) {
      queue->thens.push_back({queue->jobs.size(), std::move(then)});
      return;
    }
  }
  then();
}

void DeferredGradients::leave() {
  RIESZ_CHECK(!left_ && current() == queue_, "DeferredGradients::leave: this thread's innermost is another");
  detail::call_state().deferred = std::exchange(outer_, nullptr);
  left_ = true;
}

std::shared_ptr<detail::DeferredQueue> detail::current_queue() { return call_state().deferred; }

std::size_t DeferredGradients::size() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->jobs.size();
}

void DeferredGradients::compute() {
  std::vector<Job> jobs;
  std::vector<Then> thens;
  {
    const std::lock_guard lock(queue_->mutex);
    jobs.swap(queue_->jobs);
    thens.swap(queue_->thens);
  }
  const at::NoGradGuard no_gradient;
  Groups groups = groups_of(jobs);
  auto next = thens.begin();
  for (std::size_t i = 0; i <= jobs.size(); ++i) {
    for (; next != thens.end() && next->after == i; ++next) next->call();
    if (i < jobs.size()) add_gradient(jobs[i], groups);
  }
}

bool detail::is_open(DeferredQueue& queue) {
  const std::lock_guard lock(queue.mutex);
  return !queue.closed;
}

void detail::defer(DeferredQueue& queue, const ContractionPlan& plan, const at::Tensor& w, Operands stored,
                   Operands gathered, std::shared_ptr<SharedRead> group) {
  if (gathered[0].defined()) group = nullptr;
  for (std::size_t k = 0; k < 3; ++k) {  // detached, so that the graph before them may go
    if (gathered[k].defined()) stored[k] = at::Tensor();
    if (stored[k].defined()) stored[k] = stored[k].detach();
    if (gathered[k].defined()) gathered[k] = gathered[k].detach();
  }
  const std::lock_guard lock(queue.mutex);
  queue.jobs.push_back(
      {plan, w, std::move(stored), std::move(gathered), std::move(group), LayerScope::current()});
}

}  // namespace riesz
