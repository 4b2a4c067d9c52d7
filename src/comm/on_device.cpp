// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/on_device.h"

#include <ATen/ops/empty.h>

namespace riesz {

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  if (device.is_cpu()) return host;
  const at::Tensor pinned = at::empty(host.sizes(), host.options().pinned_memory(true));
  return pinned.copy_(host).to(device, host.scalar_type(), /*non_blocking=*/true);
}

}  // namespace riesz
