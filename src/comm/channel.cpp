// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/channel.h"

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local int current = 0;

}  // namespace

int current_channel() { return current; }

int change_channel(int channel) {
  RIESZ_CHECK(channel >= 0 && channel < kChannels, "a channel's number is from 0 to ", kChannels - 1,
              ", not ", channel);
  return std::exchange(current, channel);
}

}  // namespace riesz
