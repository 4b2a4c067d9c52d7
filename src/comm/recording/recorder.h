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

/// A recorder: records what this process does as a worker of a `Simulation`, which is given it. Only this
/// room calls it. Safe to use from several threads.
class Recorder {
 public:
  /// The recorder of the simulation under way, or nullptr.
  static Recorder* current();

  /// The recording, at the simulation's end.
  Recording take();

  /// A round begins; returns its number.
  std::size_t posted(const std::vector<Message>& sends, const std::vector<Message>& receives);
  /// Its messages are done, so far as this strand goes.
  void waited(std::size_t round);
  /// A channel of the transport belongs to a buffer from now on, made together with `peers`.
  void made_channel(int channel, const std::vector<int>& peers);

 private:
  friend class Simulation;
  friend class Strand;
  static void set_current(Recorder* recorder);

  std::size_t begin();
  void joined(std::size_t strand);
  void note(RecordedEvent::Kind kind, std::size_t subject);
  RecordedMessage recorded(const Message& message, bool sent);
  std::int64_t number_on(int peer, bool sent, int channel, int number);

  std::mutex mutex_;
  Recording recording_;
  std::map<int, int> buffers_;                          // made together, by peer
  std::map<std::pair<int, int>, int> buffer_channels_;  // by the transport's channel and peer: which one
  std::map<std::pair<int, std::pair<bool, int>>, std::int64_t> last_;  // numbers, by peer, way and channel
};

}  // namespace riesz
