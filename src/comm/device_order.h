// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// A device order: compares both ends of the messages that a device transport carries, before they are
/// posted. Devices have no match keys: within a pair of workers the order of the posts decides. So the n-th
/// description that this worker sends to a peer is compared with the n-th that the peer expects, by messages
/// of the host in a channel of their own. A description has the label, size, type and match key of a message.
/// Private to src/comm.
class DeviceOrder {
 public:
  /// Waits until the peers of these messages come to a post, and compares. The caller posts the messages
  /// while it holds the lock, so other threads of this worker post before or after.
  /// @throws Error that names both ends if they differ: the workers call other operators, or in another
  /// order.
  std::unique_lock<std::mutex> compare(Transport& transport, const std::vector<Message>& sends,
                                       const std::vector<Message>& receives);

 private:
  /// In place of messages: what they are. Takes the next number of each pair.
  static std::vector<Message> descriptions(const Transport& transport, const std::vector<Message>& messages,
                                           std::vector<int>& taken);

  std::mutex mutex_;                  // of one post at a time
  std::vector<int> sent_, received_;  // descriptions, by peer
};

}  // namespace riesz
