// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/packed.h"

#include <ATen/ops/empty.h>

#include <string>
#include <utility>

namespace riesz {
namespace {

at::Tensor bytes_of(const TensorSpan& span) {
  // A tensor of one element is contiguous whatever its stride, by which LibTorch refuses to view it as bytes.
  return span.data.as_strided({span.count}, {1}, span.data.storage_offset() + span.begin).view(at::kByte);
}

/// Room for all that goes to or comes from each peer.
std::map<int, at::Tensor> rooms_for(const std::vector<Transfer>& transfers) {
  std::map<int, std::int64_t> sizes;
  std::map<int, at::Tensor> rooms;
  for (const Transfer& transfer : transfers) sizes[transfer.peer] += transfer.span.bytes();
  for (const Transfer& transfer : transfers) {
    at::Tensor& room = rooms[transfer.peer];
    if (!room.defined())
      room = at::empty({sizes[transfer.peer]}, transfer.span.data.options().dtype(at::kByte));
  }
  return rooms;
}

/// Calls f(bytes of a transfer, where they are in its peer's room).
template <typename Function>
void each(const std::vector<Transfer>& transfers, const std::map<int, at::Tensor>& rooms, const Function& f) {
  std::map<int, std::int64_t> at;
  for (const Transfer& transfer : transfers) {
    std::int64_t& begin = at[transfer.peer];
    f(bytes_of(transfer.span), rooms.at(transfer.peer).narrow(0, begin, transfer.span.bytes()));
    begin += transfer.span.bytes();
  }
}

/// Of the transfers of one peer, in their order.
std::shared_ptr<const Label> label_of(const Operation& operation, const std::vector<Transfer>& transfers,
                                      int peer) {
  std::string text = operation.text;
  DigestBuilder digest;
  const char* before = " of ";
  for (const Transfer& transfer : transfers) {
    if (transfer.peer != peer) continue;
    digest.mix(transfer.label->digest()).mix(static_cast<std::uint64_t>(transfer.span.bytes()));
    digest.mix(static_cast<std::uint64_t>(transfer.span.data.scalar_type()));
    if (text.size() < Label::kMostTextBytes) text += std::exchange(before, "; ") + transfer.label->text();
  }
  return std::make_shared<const Label>(text, digest);
}

}  // namespace

Packed::Packed(const Operation& operation, std::vector<Transfer> sends, std::vector<Transfer> receives)
    : operation_(operation),
      sends_(std::move(sends)),
      receives_(std::move(receives)),
      out_(rooms_for(sends_)),
      in_(rooms_for(receives_)) {
  each(sends_, out_, [](const at::Tensor& part, const at::Tensor& room) { room.copy_(part); });
}

std::vector<Transfer> Packed::addressed(const std::vector<Transfer>& transfers, const Rooms& rooms) const {
  std::vector<Transfer> all;
  for (const auto& [peer, room] : rooms) all.push_back({peer, room, label_of(operation_, transfers, peer)});
  return all;
}

void Packed::unpack() const {
  each(receives_, in_, [](const at::Tensor& part, const at::Tensor& room) { part.copy_(room); });
}

}  // namespace riesz
