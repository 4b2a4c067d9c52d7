// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_to_all_v.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/resolved.h"
#include "riesz/partition/digest.h"

namespace riesz {
namespace {

/// World ranks of the fibre through this worker, its place there, and what all of it have alike.
struct Fibre {
  std::vector<int> peers;
  std::size_t me = 0;
  std::string over;
  Digest digest;
};

Fibre fibre_of(const std::string& name, const Partition& partition, const std::vector<std::string>& axes) {
  check_real(name, partition);
  Fibre fibre;
  mix(fibre.digest, partition);
  const std::vector<int> positions = partition.indices(axes);
  for (const int axis : positions) {
    fibre.over += (fibre.over.empty() ? " over " : ", ") + partition.axis(axis).name;
    fibre.digest.mix(static_cast<std::uint64_t>(axis));
  }
  for (const int rank : partition.fibre(partition.rank(), positions)) {
    if (rank == partition.rank()) fibre.me = fibre.peers.size();
    fibre.peers.push_back(partition.world_rank(rank));
  }
  return fibre;
}

/// Counted as `name`; workers of other axes, or of rows of another shape, meet an Error.
Operation operation_of(const std::string& name, const Fibre& fibre, at::IntArrayRef row = {}) {
  Digest digest = fibre.digest;
  std::string more;
  for (const std::int64_t extent : row) {
    digest.mix(static_cast<std::uint64_t>(extent));
    more += (more.empty() ? " of rows of " : " x ") + std::to_string(extent);
  }
  return {name, name + fibre.over, more, digest};
}

/// sent[i] to worker i; into received[i] from it. The own one is passed by.
void exchange(const Operation& operation, const Fibre& fibre, const std::vector<at::Tensor>& sent,
              const std::vector<at::Tensor>& received) {
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  for (std::size_t i = 0; i < fibre.peers.size(); ++i) {
    if (i == fibre.me) continue;
    sends.push_back({fibre.peers[i], sent[i]});
    receives.push_back({fibre.peers[i], received[i]});
  }
  Communicator::world().exchange(operation, sends, receives);
}

std::vector<std::int64_t> swap_counts(const Operation& operation, const Fibre& fibre,
                                      const std::vector<std::int64_t>& counts) {
  std::vector<at::Tensor> sent;
  std::vector<at::Tensor> received;
  for (const std::int64_t count : counts) {
    sent.push_back(at::scalar_tensor(count, at::kLong));
    received.push_back(sent.back().clone());
  }
  exchange(operation, fibre, sent, received);
  std::vector<std::int64_t> theirs;
  for (std::size_t i = 0; i < received.size(); ++i) theirs.push_back(host_value(received[i], counts[i]));
  return theirs;
}

void check_pieces(const Fibre& fibre, const std::vector<at::Tensor>& pieces) {
  RIESZ_CHECK(pieces.size() == fibre.peers.size(), "all_to_all_v: ", pieces.size(), " pieces for ",
              fibre.peers.size(), " workers; give one to each, with no rows where it gets none");
  for (const at::Tensor& piece : pieces) {
    const bool alike = piece.dim() >= 1 && piece.dim() == pieces.front().dim() &&
                       piece.scalar_type() == pieces.front().scalar_type() &&
                       piece.sizes().slice(1) == pieces.front().sizes().slice(1);
    RIESZ_CHECK(alike, "all_to_all_v: pieces of ", pieces.front().sizes(), " of ",
                pieces.front().scalar_type(), " and of ", piece.sizes(), " of ", piece.scalar_type(),
                "; they may differ in the number of rows only");
  }
}

}  // namespace

std::vector<std::int64_t> all_counts(const Partition& partition, const std::vector<std::string>& axes,
                                     std::int64_t count) {
  if (!partition.active()) return {};
  const Fibre fibre = fibre_of("AllCounts", partition, axes);
  return swap_counts(operation_of("AllCounts", fibre), fibre,
                     std::vector<std::int64_t>(fibre.peers.size(), count));
}

std::vector<at::Tensor> all_to_all_v(const Partition& partition, const std::vector<std::string>& axes,
                                     const std::vector<at::Tensor>& pieces) {
  if (!partition.active()) return {};
  const Fibre fibre = fibre_of("AllToAllV", partition, axes);
  check_pieces(fibre, pieces);
  const Operation operation = operation_of("AllToAllV", fibre, pieces.front().sizes().slice(1));
  std::vector<std::int64_t> rows;
  std::vector<at::Tensor> sent;
  for (const at::Tensor& piece : pieces) {
    rows.push_back(piece.size(0));
    sent.push_back(resolved(piece.detach()).contiguous());
  }
  const std::vector<std::int64_t> theirs = swap_counts(operation, fibre, rows);
  std::vector<at::Tensor> received;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    std::vector<std::int64_t> shape = sent[i].sizes().vec();
    shape[0] = theirs[i];
    received.push_back(i == fibre.me ? sent[i] : at::empty(shape, sent[i].options()));
  }
  exchange(operation, fibre, sent, received);
  return received;
}

}  // namespace riesz
