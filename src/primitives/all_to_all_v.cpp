// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_to_all_v.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/resolved.h"
#include "riesz/primitives/fibre.h"

namespace riesz {
namespace {

std::vector<std::int64_t> swap_counts(const Operation& operation, const Fibre& fibre,
                                      const std::vector<std::int64_t>& counts) {
  std::vector<at::Tensor> sent;
  std::vector<at::Tensor> received;
  for (const std::int64_t count : counts) {
    sent.push_back(at::scalar_tensor(count, at::kLong));
    received.push_back(sent.back().clone());
  }
  fibre.exchange(operation, sent, received);
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
  const Fibre fibre = Fibre::through_here("AllCounts", partition, axes);
  return swap_counts(fibre.operation("AllCounts"), fibre,
                     std::vector<std::int64_t>(fibre.peers.size(), count));
}

std::vector<at::Tensor> all_to_all_v(const Partition& partition, const std::vector<std::string>& axes,
                                     const std::vector<at::Tensor>& pieces) {
  if (!partition.active()) return {};
  const Fibre fibre = Fibre::through_here("AllToAllV", partition, axes);
  check_pieces(fibre, pieces);
  const Operation operation = fibre.operation("AllToAllV", pieces.front().sizes().slice(1));
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
  fibre.exchange(operation, sent, received);
  return received;
}

}  // namespace riesz
