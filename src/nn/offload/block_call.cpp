// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/offload/block_call.h"

#include <utility>

#include "riesz/primitives/chain.h"

namespace riesz::detail {

using Lock = std::lock_guard<std::recursive_mutex>;

void Offloading::make_room() {
  const Lock lock(mutex);
  for (const auto& call : last) call->put();
  while (last.size() > depth) {
    const std::shared_ptr<BlockCall> first = std::move(last.front());
    last.pop_front();
    first->let_go();
  }
}

SavedMemory::SavedMemory(std::shared_ptr<Offloading> all, at::Storage memory)
    : all_(std::move(all)), memory_(std::move(memory)) {}

SavedMemory::~SavedMemory() {
  const Lock lock(all_->mutex);
  if (!placed_ && !brought_) forget();
  placed_.reset();
}

void SavedMemory::forget() { all_->here.erase(memory_.unsafeGetStorageImpl()); }

void SavedMemory::put() {
  if (placed_ || brought_ || memory_.use_count() > 1) return;
  placed_ = all_->place->put(memory_);
  forget();
  memory_ = {};
}

void SavedMemory::let_go() const {
  if (placed_) placed_->let_go();
}

void SavedMemory::expect() const {
  if (placed_) placed_->expect();
}

const at::Storage& SavedMemory::bring() {
  if (placed_) {
    memory_ = placed_->bring();
    placed_.reset();
    brought_ = true;
  }
  return memory_;
}

std::shared_ptr<SavedMemory> BlockCall::save(const at::Storage& memory) {
  const Lock lock(all_->mutex);
  std::weak_ptr<SavedMemory>& known = all_->here[memory.unsafeGetStorageImpl()];
  std::shared_ptr<SavedMemory> saved = known.lock();
  if (saved == nullptr) known = saved = std::make_shared<SavedMemory>(all_, memory);
  if (known_.insert(saved.get()).second) saved_.push_back(saved);
  return saved;
}

void BlockCall::end(const std::shared_ptr<BlockCall>& self) {
  const Lock lock(all_->mutex);
  known_.clear();
  if (saved_.empty()) return;
  all_->last.push_back(self);
  std::erase_if(all_->tapes, [](const auto& each) { return each.second.life.expired(); });
  const Chain* chain = Chain::current();
  if (chain == nullptr) return;
  Offloading::Tape& tape = all_->tapes[chain->tape()];
  tape.life = chain->lifetime();
  before_ = std::exchange(tape.last, self);
}

void BlockCall::put() {
  if (reached_) return;
  for (const auto& each : saved_)
    if (const auto saved = each.lock()) saved->put();
}

void BlockCall::let_go() {
  if (reached_) return;
  for (const auto& each : saved_)
    if (const auto saved = each.lock()) saved->let_go();
}

void BlockCall::expect() const {
  for (const auto& each : saved_)
    if (const auto saved = each.lock()) saved->expect();
}

void BlockCall::reach() {
  if (std::exchange(reached_, true)) return;
  const BlockCall* call = this;
  for (std::size_t i = 0; call != nullptr && i <= all_->depth; ++i, call = call->before_.get())
    call->expect();
}

}  // namespace riesz::detail
