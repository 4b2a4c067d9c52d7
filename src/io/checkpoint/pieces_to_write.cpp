// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/checkpoint/pieces_to_write.h"

#include <utility>

namespace riesz {
namespace {

/// Bytes of the checkpoint that are brought to their writers before these write them.
constexpr std::int64_t kAtOnce = std::int64_t{2} << 20;

}  // namespace

PiecesToWrite::PiecesToWrite(const Partition& P, std::string what, UnfinishedFiles& files,
                             WriteProgress& progress)
    : partition_(P), what_(std::move(what)), files_(files), progress_(progress) {}

void PiecesToWrite::after(const WrittenVector& vector) {
  bytes_ += vector.place.size();
  if (bytes_ >= kAtOnce) write();
}

void PiecesToWrite::write() {
  if (bytes_ == 0) return;
  write_together(partition_, what_, progress_, [this] {
    for (const Piece& piece : brought_) files_.write(piece);
  });
  brought_.clear();
  bytes_ = 0;
}

}  // namespace riesz
