// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/text_message.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "riesz/comm/communicator.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

const Operation& text_operation() {
  static const Operation operation("Text");
  return operation;
}

void move_text(int peer, bool sends, const at::Tensor& x) {
  const std::vector<int> peers{peer}, none;
  std::vector<Transfer> all;
  all.push_back({peer, x});
  const Reservation round = Communicator::world().reserve(sends ? peers : none, sends ? none : peers);
  const auto requests = sends ? round.post(text_operation(), std::move(all), {}, Counted::nothing)
                              : round.post(text_operation(), {}, std::move(all), Counted::nothing);
  wait_until(
      text_operation().text, [&] { return requests->done(); }, [&] { return requests->unfinished(); });
}

}  // namespace

void send_text(const Partition& partition, int to, const std::string& text) {
  const int peer = partition.world_rank(to);
  const at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  if (!text.empty()) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  move_text(peer, true, at::empty({1}, at::kLong).fill_(bytes.numel()));
  if (bytes.numel() > 0) move_text(peer, true, bytes);
}

std::string receive_text(const Partition& partition, int from) {
  const int peer = partition.world_rank(from);
  const at::Tensor size = at::empty({1}, at::kLong);
  move_text(peer, false, size);
  const at::Tensor bytes = at::empty({size.item<std::int64_t>()}, at::kByte);
  if (bytes.numel() > 0) move_text(peer, false, bytes);
  return {static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

}  // namespace riesz
