// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/side_stream.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

namespace riesz {

DeviceStream side_stream(const DeviceTransport& transport, at::ArrayRef<at::Tensor> used) {
  const c10::Stream side = transport.stream();
  c10::Event here(side.device_type());
  here.record(c10::impl::VirtualGuardImpl(side.device_type()).getStream(side.device()));
  here.block(side);
  for (const at::Tensor& each : used) {
    if (each.numel() > 0) each.record_stream(side);
  }
  const c10::StreamGuard in(side);
  return DeviceStream(side.device());
}

}  // namespace riesz
