// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/packed.h"

#include <ATen/ops/empty.h>

#include <string>
#include <utility>

namespace riesz {
namespace {

at::Tensor bytes_of(const Range& range) {
  // A tensor of one element is contiguous whatever its stride, by which LibTorch refuses to view it as bytes.
  return range.data.as_strided({range.count}, {1}, range.data.storage_offset() + range.begin).view(at::kByte);
}

/// Room for all that goes to or comes from each peer.
std::map<int, at::Tensor> rooms_for(const std::vector<Parcel>& parcels) {
  std::map<int, std::int64_t> sizes;
  std::map<int, at::Tensor> rooms;
  for (const Parcel& parcel : parcels) sizes[parcel.peer] += parcel.range.bytes();
  for (const Parcel& parcel : parcels) {
    at::Tensor& room = rooms[parcel.peer];
    if (!room.defined()) room = at::empty({sizes[parcel.peer]}, parcel.range.data.options().dtype(at::kByte));
  }
  return rooms;
}

/// Calls f(bytes of a parcel, where they are in its peer's room).
template <typename Function>
void each(const std::vector<Parcel>& parcels, const std::map<int, at::Tensor>& rooms, const Function& f) {
  std::map<int, std::int64_t> at;
  for (const Parcel& parcel : parcels) {
    std::int64_t& begin = at[parcel.peer];
    f(bytes_of(parcel.range), rooms.at(parcel.peer).narrow(0, begin, parcel.range.bytes()));
    begin += parcel.range.bytes();
  }
}

/// Of the parcels of one peer, in their order.
std::shared_ptr<const Label> label_of(const Operation& operation, const std::vector<Parcel>& parcels,
                                      int peer) {
  std::string text = operation.text;
  Digest digest;
  const char* before = " of ";
  for (const Parcel& parcel : parcels) {
    if (parcel.peer != peer) continue;
    digest.mix(parcel.label->digest()).mix(static_cast<std::uint64_t>(parcel.range.bytes()));
    digest.mix(static_cast<std::uint64_t>(parcel.range.data.scalar_type()));
    if (text.size() < Label::kMost) text += std::exchange(before, "; ") + parcel.label->text();
  }
  return std::make_shared<const Label>(text, digest);
}

}  // namespace

Packed::Packed(const Operation& operation, std::vector<Parcel> sends, std::vector<Parcel> receives)
    : operation_(operation),
      sends_(std::move(sends)),
      receives_(std::move(receives)),
      out_(rooms_for(sends_)),
      in_(rooms_for(receives_)) {
  each(sends_, out_, [](const at::Tensor& part, const at::Tensor& room) { room.copy_(part); });
}

std::vector<Parcel> Packed::addressed(const std::vector<Parcel>& parcels, const Rooms& rooms) const {
  std::vector<Parcel> all;
  for (const auto& [peer, room] : rooms) all.push_back({peer, room, label_of(operation_, parcels, peer)});
  return all;
}

void Packed::unpack() const {
  each(receives_, in_, [](const at::Tensor& part, const at::Tensor& room) { part.copy_(room); });
}

}  // namespace riesz
