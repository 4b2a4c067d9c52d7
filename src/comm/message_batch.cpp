// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/message_batch.h"

#include <ATen/ops/empty.h>

#include <map>
#include <string>
#include <utility>

#include "riesz/comm/communicator.h"

namespace riesz {
namespace {

thread_local MessageBatch* innermost = nullptr;

at::Tensor bytes_of(const Range& range) {
  // A tensor of one element is contiguous whatever its stride, by which LibTorch refuses to view it as bytes.
  return range.data.as_strided({range.count}, {1}, range.data.storage_offset() + range.begin).view(at::kByte);
}

/// Room for all ranges of each peer.
std::map<int, at::Tensor> buffers(const std::vector<Parcel>& parcels) {
  std::map<int, std::int64_t> sizes;
  std::map<int, at::Tensor> room;
  for (const Parcel& parcel : parcels) sizes[parcel.peer] += parcel.range.bytes();
  for (const Parcel& parcel : parcels) {
    at::Tensor& buffer = room[parcel.peer];
    if (!buffer.defined())
      buffer = at::empty({sizes[parcel.peer]}, parcel.range.data.options().dtype(at::kByte));
  }
  return room;
}

/// Calls f(bytes of a parcel, where they are in its peer's buffer).
template <typename Function>
void each(const std::vector<Parcel>& parcels, const std::map<int, at::Tensor>& room, const Function& f) {
  std::map<int, std::int64_t> at;
  for (const Parcel& parcel : parcels) {
    std::int64_t& begin = at[parcel.peer];
    f(bytes_of(parcel.range), room.at(parcel.peer).narrow(0, begin, parcel.range.bytes()));
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
    const Declared part{{}, parcel.label->digest(), parcel.range.bytes(), parcel.range.data.scalar_type()};
    digest.mix(part.digest).mix(static_cast<std::uint64_t>(part.bytes));
    digest.mix(static_cast<std::uint64_t>(part.type));
    if (text.size() < Label::kMost) text += std::exchange(before, "; ") + parcel.label->text();
  }
  return std::make_shared<const Label>(text, digest);
}

/// One for each peer.
std::vector<Parcel> packed(const Operation& operation, const std::vector<Parcel>& parcels,
                           const std::map<int, at::Tensor>& room) {
  std::vector<Parcel> all;
  for (const auto& [peer, buffer] : room) all.push_back({peer, buffer, label_of(operation, parcels, peer)});
  return all;
}

}  // namespace

struct MessageBatch::Impl {
  Operation operation;
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  bool arrived = false;
};

namespace {

class Kept final : public Exchange {
 public:
  explicit Kept(std::shared_ptr<const MessageBatch::Impl> batch) : batch_(std::move(batch)) {}
  bool done() override { return batch_->arrived; }
  std::vector<int> unfinished() const override { return {}; }

 private:
  std::shared_ptr<const MessageBatch::Impl> batch_;
};

}  // namespace

MessageBatch::MessageBatch(const Operation& operation)
    : impl_(std::make_shared<Impl>(Impl{operation, {}, {}})), outer_(std::exchange(innermost, this)) {}

MessageBatch::~MessageBatch() { innermost = outer_; }

MessageBatch* MessageBatch::current() { return innermost; }

MessageBatch::Pause::Pause() : batch_(std::exchange(innermost, nullptr)) {}
MessageBatch::Pause::~Pause() { innermost = batch_; }

std::unique_ptr<Exchange> MessageBatch::keep(const Operation& operation, std::vector<Parcel> sends,
                                             std::vector<Parcel> receives) {
  const auto append = [&](std::vector<Parcel>& kept, std::vector<Parcel>& parcels) {
    for (Parcel& parcel : parcels) {
      if (!parcel.label) parcel.label = operation.label;
      kept.push_back(std::move(parcel));
    }
  };
  append(impl_->sends, sends);
  append(impl_->receives, receives);
  return std::make_unique<Kept>(impl_);
}

void MessageBatch::send() {
  const std::map<int, at::Tensor> out = buffers(impl_->sends);
  const std::map<int, at::Tensor> in = buffers(impl_->receives);
  each(impl_->sends, out, [](const at::Tensor& part, const at::Tensor& place) { place.copy_(part); });
  Communicator::world().exchange_packed(impl_->operation, packed(impl_->operation, impl_->sends, out),
                                        packed(impl_->operation, impl_->receives, in));
  each(impl_->receives, in, [](const at::Tensor& part, const at::Tensor& place) { part.copy_(place); });
  impl_->arrived = true;
}

}  // namespace riesz
