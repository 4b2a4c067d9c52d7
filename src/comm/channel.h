// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// The number of channels that a program can use. Channel n makes a table of 2n + 2 entries of 48 bytes, so
/// use small numbers.
inline constexpr int kChannels = 1 << 15;

/// The channel of this thread: the sequence in which its messages are numbered. It is 0, unless a
/// `ChannelScope` or a `Chain` sets another. The n-th message that a worker reserves for another in a channel
/// is the n-th that the other reserves for it, in program order. They may be posted in any order. Messages in
/// other channels do not count.
int current_channel();

/// Sets this thread's channel and returns the one before. For code that cannot use scopes.
/// @throws Error unless it is from 0 to kChannels − 1.
int change_channel(int channel);

/// A channel scope: an RAII object that sets this thread's channel while it lives. Scopes nest. All workers
/// that take part in a call make it in the same channel.
class ChannelScope {
 public:
  explicit ChannelScope(int channel) : outer_(change_channel(channel)) {}
  ~ChannelScope() { change_channel(outer_); }
  ChannelScope(const ChannelScope&) = delete;
  ChannelScope& operator=(const ChannelScope&) = delete;

 private:
  int outer_;
};

}  // namespace riesz
