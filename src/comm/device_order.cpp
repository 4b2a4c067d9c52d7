// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device_order.h"

#include <ATen/ops/empty.h>

#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// What a description has beside its label.
struct Description {
  std::int64_t bytes, type, channel, number;
};
constexpr std::int64_t kNumbersOfOne = sizeof(Description) / sizeof(std::int64_t);

Description description_of(const Message& message) {
  return {message.span.bytes(), static_cast<std::int64_t>(message.span.data.scalar_type()),
          message.key.channel, message.key.number};
}

/// The channel of the program, or a buffer's.
std::string text_of_channel(std::int64_t channel) {
  return channel % 2 == 1 ? concat("channel ", channel / 2) : std::string("the channel of a TeamBuffer");
}

void check_same(int peer, const Message& receive, const Description& theirs) {
  Signature sent = receive.signature();
  sent.bytes = theirs.bytes;
  sent.type = static_cast<at::ScalarType>(theirs.type);
  if (!sent.matches(receive.signature())) throw_mismatch(peer, sent, receive.signature());
  RIESZ_CHECK(theirs.channel == receive.key.channel && theirs.number == receive.key.number,
              receive.label->text(), ": the workers' programs differ: rank ", peer, " sends message ",
              theirs.number, " of ", text_of_channel(theirs.channel), " where this worker expects message ",
              receive.key.number, " of ", text_of_channel(receive.key.channel),
              "; devices know no channels, so let all workers of a team make its calls in one order");
}

}  // namespace

std::vector<Message> DeviceOrder::descriptions(const Transport& transport,
                                               const std::vector<Message>& messages,
                                               std::vector<int>& taken) {
  std::vector<Message> all;
  for (const Message& message : messages) {
    const auto peer = static_cast<std::size_t>(message.peer);
    if (taken.size() <= peer) taken.resize(peer + 1, 0);
    const int number = std::exchange(taken[peer], (taken[peer] + 1) % kNumbers);
    const at::Tensor what = at::empty({kNumbersOfOne}, at::kLong);
    *static_cast<Description*>(what.mutable_data_ptr()) = description_of(message);
    all.push_back({message.peer, {transport.channels() - 1, number}, what, message.label});
  }
  return all;
}

std::unique_lock<std::mutex> DeviceOrder::compare(Transport& transport, const std::vector<Message>& sends,
                                                  const std::vector<Message>& receives) {
  RIESZ_CHECK(transport.channels() > 2, "rounds on devices are not compared: the transport tells ",
              transport.channels(),
              " channels apart (MPI_TAG_UB bounds them), and that takes one more; unset "
              "RIESZ_CHECK, or take another MPI");
  std::unique_lock lock(mutex_);
  const std::vector<Message> come = descriptions(transport, receives, received_);
  const std::unique_ptr<Requests> requests = transport.post(descriptions(transport, sends, sent_), come);
  wait_here((sends.empty() ? receives : sends).front().label->text(), [&] { return requests->done(); },
            [&] { return requests->unfinished(); });
  for (std::size_t i = 0; i < come.size(); ++i)
    check_same(come[i].peer, receives[i],
               *static_cast<const Description*>(come[i].span.data.const_data_ptr()));
  return lock;
}

}  // namespace riesz
