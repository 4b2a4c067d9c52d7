// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/recording/recording.h"

namespace riesz {

/// Do two ends of a message agree in label, size and type? Private to src/verify.
inline bool alike(const RecordedMessage& a, const RecordedMessage& b) {
  return a.label->digest() == b.label->digest() && a.elements == b.elements && a.type == b.type;
}

/// Do they have one match key?
inline bool same_key(const RecordedMessage& a, const RecordedMessage& b) {
  return a.channel == b.channel && a.number == b.number;
}

}  // namespace riesz
