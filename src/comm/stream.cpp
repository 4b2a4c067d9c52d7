// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/stream.h"

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

thread_local int current = 0;

}  // namespace

int current_stream() { return current; }

int change_stream(int stream) {
  RIESZ_CHECK(stream >= 0 && stream < kStreams, "a stream's number is from 0 to ", kStreams - 1, ", not ",
              stream);
  return std::exchange(current, stream);
}

}  // namespace riesz
