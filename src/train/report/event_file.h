// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "riesz/train/report/history.h"

namespace riesz {

/// TensorBoard's event files: TFRecords of protocol buffers, written out here. A row is one event with its
/// scalars in fp32: loss/train, loss/held_out, learning_rate, gradient_norm, rate. A model with experts also
/// has experts/expert_load, experts/dropped and experts/gate_entropy. Scalars that were not measured are left
/// out. `began`: the time when training began, in seconds since 1970; rows count from it.
RowFormat event_file(double began);

/// CRC-32C (Castagnoli; RFC 3720) of bytes.
std::uint32_t crc32c(std::string_view bytes);

/// A TFRecord: the length in 8 bytes, a masked checksum of these, the bytes, a masked checksum of them.
std::string tf_record(std::string_view bytes);

}  // namespace riesz
