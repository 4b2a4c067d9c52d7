// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "riesz/comm/recording/recording.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// A recorder: an object that a `Simulation` is given, and that keeps a `Recording` of what its worker does.
/// Programs call `take`; only src/comm calls the rest. Safe to use from several threads.
class Recorder {
 public:
  /// The recorder of the simulation under way, or nullptr.
  static Recorder* current();

  /// The recording. Called at the end of the simulation.
  Recording take();

  /// Records that a round of messages was posted, and returns its number.
  std::size_t posted(const std::vector<Message>& sends, const std::vector<Message>& receives);
  /// Records that this strand has waited for all messages of a round.
  void waited(std::size_t round);
  /// Records that a channel of the transport is now a team channel, made together with `peers`.
  void made_channel(int channel, const std::vector<int>& peers);

 private:
  friend class Simulation;
  friend class Strand;
  static void set_current(Recorder* recorder);

  std::size_t begin(bool thread);
  void joined(std::size_t strand);
  void note(RecordedEvent::Kind kind, std::size_t subject);
  RecordedMessage recorded(const Message& message, bool sent);

  std::mutex mutex_;
  Recording recording_;
  std::map<int, int> buffers_;                          // made together, by peer
  std::map<std::pair<int, int>, int> buffer_channels_;  // by the transport's channel and peer: which one
};

}  // namespace riesz
