// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/comm/transport.h"

namespace riesz {

struct Parcel;

/// Several rounds of messages as one: while a batch lives, what its thread posts to a Communicator is kept;
/// `send` packs all parcels to one worker into one message. The workers involved post the same rounds, in the
/// same order. Elements and bytes are counted under the rounds' own names, the messages under the batch's.
/// `Communicator::exchange`, which waits, is not kept.
class MessageBatch {
 public:
  struct Impl;

  explicit MessageBatch(const Operation& operation);
  ~MessageBatch();
  MessageBatch(const MessageBatch&) = delete;
  MessageBatch& operator=(const MessageBatch&) = delete;

  /// The innermost batch of this thread, or nullptr.
  static MessageBatch* current();
  /// As long as it lives, this thread has no batch: what it posts is sent at once.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    MessageBatch* batch_;
  };

  /// A round to be sent with the others; done when they are.
  std::unique_ptr<Exchange> keep(const Operation& operation, std::vector<Parcel> sends,
                                 std::vector<Parcel> receives);

  /// Sends everything kept, and waits until it has arrived.
  void send();

 private:
  std::shared_ptr<Impl> impl_;
  MessageBatch* outer_;
};

}  // namespace riesz
