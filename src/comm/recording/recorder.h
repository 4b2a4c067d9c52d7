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

/// Takes down what this process does as a worker of a `Simulation`, which is given it. Its calls are for the
/// parts of this room. From several threads.
class Recorder {
 public:
  /// The recorder of the simulation under way, or nullptr.
  static Recorder* current();

  /// All that was taken down. At the simulation's end.
  Recording take();

  /// A round begins; returns its number.
  std::size_t posted(const std::vector<Message>& sends, const std::vector<Message>& receives);
  /// Its messages are done, so far as this strand goes.
  void waited(std::size_t round);
  /// A stream of the transport is from now on that of a buffer, made together with `peers`.
  void made_stream(int stream, const std::vector<int>& peers);

 private:
  friend class Simulation;
  friend class Strand;
  static void set_current(Recorder* recorder);

  std::size_t begin();
  void joined(std::size_t strand);
  void note(RecordedEvent::Kind kind, std::size_t subject);
  RecordedMessage recorded(const Message& message, bool sent);
  std::int64_t number_on(int peer, bool sent, int stream, int number);

  std::mutex mutex_;
  Recording recording_;
  std::map<int, int> buffers_;                         // made together, by peer
  std::map<std::pair<int, int>, int> buffer_streams_;  // by the transport's stream and peer: which one
  std::map<std::pair<int, std::pair<bool, int>>, std::int64_t> last_;  // numbers, by peer, way and stream
};

}  // namespace riesz
