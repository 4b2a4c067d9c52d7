// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/label.h"
#include "riesz/comm/layer_scope.h"

namespace riesz {

/// A message that a worker has sent or expects.
struct RecordedMessage {
  int peer;  ///< world rank of the other end
  bool sent;
  /// A message is matched by its number in a channel between the two workers. Team channels are negative: −n
  /// is the n-th that the two made together, for a `TeamBuffer` or a `SideChannel`.
  int channel;
  std::int64_t number;
  std::int64_t elements;
  at::ScalarType type;
  std::shared_ptr<const Label> label;

  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(c10::elementSize(type)); }
};

/// A round: messages that were posted together.
struct RecordedRound {
  std::size_t first, last;  ///< its messages, among the recording's
  std::size_t posted;       ///< the number of its event `post`
  bool let_go = false;      ///< sends that nobody waits for; the worker keeps them until they are taken
};

/// An event of a worker, in one of its strands. A strand is a sequence of events, one after the other: strand
/// 0 is the program, and each other one a `Thread` of it or a background task.
struct RecordedEvent {
  enum class Kind {
    post,   ///< a round of messages begins; this waits for nobody
    wait,   ///< all messages of a round are done
    begin,  ///< a strand begins
    join,   ///< another strand has ended, and this one goes on
  };
  Kind kind;
  std::size_t strand;
  std::size_t subject;  ///< the round, or the strand
  std::shared_ptr<const Origin> origin;
};

/// A recording: the messages that one worker of a job sent, expected and waited for, in order. A `Recorder`
/// makes it during a `Simulation`.
struct Recording {
  int rank = 0;
  int workers = 1;
  std::vector<RecordedMessage> messages;
  std::vector<RecordedRound> rounds;
  std::vector<RecordedEvent> events;
  std::size_t strands = 1;
  std::vector<std::size_t> threads{0};  ///< the strands that are threads of the program
};

/// The text of a round's operation: that of its first message.
std::string operation_of(const Recording& recording, const RecordedRound& round);
/// An origin in words, such as " in layer transformer.h.0, backward"; only the phase, such as ", backward",
/// if it is of the whole model. Empty without an origin.
std::string origin_text(const std::shared_ptr<const Origin>& origin);

}  // namespace riesz
