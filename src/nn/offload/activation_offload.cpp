// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/offload/activation_offload.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/thread_state.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/call_state.h"
#include "riesz/nn/offload/block_call.h"

namespace riesz {
namespace {

[[maybe_unused]] const bool carried = carry_to_threads([]() -> ReopenOnThread {
  if (OffloadScope::current() == nullptr) return {};
  return [all = OffloadScope::current()->all()] { return std::make_shared<OffloadScope>(all); };
});

void add_blocks(const Module& module, std::unordered_set<std::string>& paths) {
  for (const Module* part : module.parts()) {
    if (module.is_repeated())
      paths.insert(part->path());
    else
      add_blocks(*part, paths);
  }
}

}  // namespace

ActivationOffload::ActivationOffload(const Module& model, std::shared_ptr<ActivationPlace> place,
                                     std::size_t depth)
    : all_(std::make_shared<detail::Offloading>()) {
  RIESZ_CHECK(depth > 0, "ActivationOffload of depth 0; read one block ahead at least");
  add_blocks(model, all_->blocks);
  RIESZ_CHECK(!all_->blocks.empty(), "ActivationOffload: in the model ", model.describe(),
              " there is no block of a Repeated, whose activations could lie elsewhere; leave it out");
  all_->place = std::move(place);
  all_->depth = depth;
}

/// Calls hold it, and it holds the last of them.
ActivationOffload::~ActivationOffload() {
  const std::lock_guard lock(all_->mutex);
  all_->last.clear(), all_->tapes.clear();
}

ActivationPlace& ActivationOffload::place() const { return *all_->place; }

OffloadScope::OffloadScope(std::shared_ptr<detail::Offloading> all)
    : all_(std::move(all)), outer_(std::exchange(detail::call_state().offload, this)) {}

OffloadScope::~OffloadScope() {
  if (block_) block_->end(block_);
  detail::call_state().offload = outer_;
}

OffloadScope* OffloadScope::current() { return detail::call_state().offload; }

/// What a region saves is the region's; only its kept inputs are the block's.
void OffloadScope::begin(const std::string& path) {
  if (block_ != nullptr) {
    ++inside_;
    return;
  }
  const bool saves = at::GradMode::is_enabled() && has_values() && detail::call_state().saving == nullptr;
  if (!saves || !all_->blocks.contains(path)) return;
  all_->make_room();
  block_ = std::make_shared<detail::BlockCall>(all_);
  inside_ = 1;
}

void OffloadScope::end() noexcept {
  if (block_ == nullptr || --inside_ > 0) return;
  block_->end(block_);
  block_.reset();
}

}  // namespace riesz
