// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/device_stream.h"
#include "riesz/comm/device_transport.h"

namespace riesz {

/// The stream of a device transport, beside the current one, for the work of a call that was started: it
/// packs, exchanges and adds there, while the program computes. The stream waits for all that is queued in
/// the current one. Freed memory of `used` is not used again before the stream is done with what it then has.
/// A wait for the call makes the current stream wait for this one (`DeviceStream::join`).
DeviceStream side_stream(const DeviceTransport& transport, at::ArrayRef<at::Tensor> used);

}  // namespace riesz
