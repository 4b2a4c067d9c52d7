// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/partition.h"

namespace riesz {

/// Sends a text to rank `to` of a partition, which calls `receive_text`. Waits until it is taken; not
/// counted. Both calls stand in the program order of their channel.
void send_text(const Partition& partition, int to, const std::string& text);
std::string receive_text(const Partition& partition, int from);

}  // namespace riesz
