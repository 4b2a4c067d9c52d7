// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// How many streams there are at most. Each number used costs some bytes of every smaller one.
inline constexpr int kStreams = 1 << 15;

/// The stream of messages that this thread is in: 0, unless a `StreamScope` or a `Chain` says another. The
/// n-th message that a worker sends to another in a stream is the n-th that the other receives from it in
/// that stream, whatever goes on in other streams meanwhile.
int current_stream();

/// This thread goes over into a stream; the one before is returned. For who cannot keep to scopes.
/// @throws Error unless it is from 0 to kStreams − 1.
int change_stream(int stream);

/// While it lives, this thread is in that stream; scopes nest. All workers that take part in a call make it
/// in the stream of one number.
class StreamScope {
 public:
  explicit StreamScope(int stream) : outer_(change_stream(stream)) {}
  ~StreamScope() { change_stream(outer_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  int outer_;
};

}  // namespace riesz
