// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// Whether workers compare, before the messages of a call, what call each of them is in: in debug builds, or
/// as the environment's RIESZ_FINGERPRINTS (0 or 1) says. Alike on all workers. Programs that differ then end
/// with an error that names the first difference instead of hanging; it costs one small message each way, not
/// counted.
bool fingerprints();
void set_fingerprints(bool on);

/// The n-th round of messages between this worker and a peer; the tag of what they say of it; and what both
/// have alike beside the operation and the bytes.
struct Round {
  int peer;
  int number;
  int tag;
  std::uint64_t digest = 0;
};

/// `sends` and `receives`, which begin once each peer has said that it is in `operation` too and sends and
/// expects as many bytes. `rounds`: one for each peer of either.
/// @throws Error (from done) naming both workers' operations and bytes, unless they and the digests agree.
std::unique_ptr<Exchange> post_checked(Transport& transport, const std::string& operation,
                                       const std::vector<Round>& rounds, std::vector<Message> sends,
                                       std::vector<Message> receives);

}  // namespace riesz
