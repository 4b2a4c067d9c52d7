// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/disk/disk_pages.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/disk/disk_memory.h"

namespace riesz {
namespace {}  // namespace

DiskPages::DiskPages(std::string what, const std::vector<std::filesystem::path>& folders,
                     const std::vector<std::int64_t>& sizes, std::size_t depth,
                     std::shared_ptr<DiskTransfers> transfers)
    : what_(std::move(what)), transfers_(std::move(transfers)) {
  std::vector<std::int64_t> ends(folders.size(), 0);
  for (const std::int64_t size : sizes) {
    const std::size_t file = pages_.size() % folders.size();
    pages_.push_back({file, ends[file], size});
    ends[file] += disk_lines(size);
    slot_bytes_ = std::max(slot_bytes_, disk_lines(size));
  }
  for (std::size_t i = 0; i < folders.size(); ++i)
    files_.push_back(std::make_shared<const UnnamedFile>(what_, folders[i], ends[i]));
  if (slot_bytes_ > 0) slots_.resize(std::min(pages_.size(), 2 * depth + 1));
  for (Slot& slot : slots_) slot.memory = disk_memory(what_, slot_bytes_);
}

std::int64_t DiskPages::bytes() const {
  std::int64_t sum = 0;
  for (const auto& file : files_) sum += file->bytes();
  return sum;
}

std::int64_t DiskPages::bytes_in_memory() const {
  return static_cast<std::int64_t>(slots_.size()) * slot_bytes_;
}

DiskPages::Slot* DiskPages::slot_of(std::size_t page) {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.page == page; });
  return found == slots_.end() ? nullptr : &*found;
}

/// That of a page that is not used: first one that does nothing, then the one that was written first, then
/// one that is read ahead; of several the one whose last use is longest ago.
DiskPages::Slot& DiskPages::emptied() {
  take_ends();
  const auto rank = [](const Slot& slot) {
    const int does = slot.does == Does::nothing ? 0 : slot.does == Does::writing ? 1 : 2;
    return std::tuple(slot.used, does, slot.turn);
  };
  Slot& slot = *std::min_element(slots_.begin(), slots_.end(),
                                 [&](const Slot& a, const Slot& b) { return rank(a) < rank(b); });
  RIESZ_CHECK(!slot.used, what_, ": all ", slots_.size(), " pages in memory are used");
  settle(slot);
  slot.page.reset();
  return slot;
}

/// The slot of a page that is here, or that is being read.
DiskPages::Slot& DiskPages::filled(std::size_t page) {
  if (!failed_.empty()) throw_error(failed_);
  Slot* slot = slot_of(page);
  if (slot == nullptr) {
    slot = &emptied();
    if (pages_[page].written)
      begin(*slot, page, Does::reading);
    else
      std::memset(slot->memory.get(), 0, static_cast<std::size_t>(slot_bytes_));
    slot->page = page;
  }
  slot->turn = ++turn_;
  return *slot;
}

void DiskPages::expect(std::size_t page) {
  if (slot_of(page) == nullptr) filled(page);
}

at::Tensor DiskPages::bring(std::size_t page) {
  Slot& slot = filled(page);
  settle(slot);
  slot.used = true;
  return at::from_blob(
      slot.memory.get(), {pages_[page].size}, [memory = slot.memory](void*) {}, at::kByte);
}

void DiskPages::let_go(std::size_t page, bool changed) {
  Slot& slot = *slot_of(page);
  slot.used = false;
  if (!changed) return;
  begin(slot, page, Does::writing);
  pages_[page].written = true;
}

void DiskPages::begin(Slot& slot, std::size_t number, Does what) {
  const Page& page = pages_[number];
  slot.transfer = transfers_->begin(
      {files_[page.file], what == Does::writing, page.at, slot.memory, disk_lines(page.size)});
  slot.does = what;
}

/// Waits for what it does.
void DiskPages::settle(Slot& slot) {
  if (slot.does == Does::nothing) return;
  const DiskTransferEnd end = await_end(*transfers_, slot.transfer, [&] {
    return concat(what_, ": ", slot.does == Does::reading ? "read" : "write", " of page ", *slot.page, " of ",
                  pages_.size());
  });
  const bool reads = std::exchange(slot.does, Does::nothing) == Does::reading;
  check(*slot.page, reads, end);
}

/// Of what was written.
void DiskPages::take_ends() {
  for (Slot& slot : slots_) {
    if (slot.does != Does::writing) continue;
    const std::optional<DiskTransferEnd> end = transfers_->ended(slot.transfer);
    if (!end) continue;
    slot.does = Does::nothing;
    check(*slot.page, false, *end);
  }
}

void DiskPages::check(std::size_t number, bool reads, const DiskTransferEnd& end) {
  const Page& page = pages_[number];
  if (end.moved == disk_lines(page.size)) return;
  failed_ = what_went_wrong(end, page.at, reads, *files_[page.file]) +
            "; the optimizer's state is lost, so go on from the last checkpoint";
  throw_error(failed_);
}

}  // namespace riesz
