// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device_stream.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

namespace riesz {

c10::Stream DeviceStream::current_of(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

DeviceStream DeviceStream::of_this_thread() {
  DeviceStream here;
  const std::optional<c10::DeviceType> type = at::getAccelerator();
  if (!type || !c10::impl::hasDeviceGuardImpl(*type)) return here;
  const c10::impl::VirtualGuardImpl guard(*type);
  if (guard.deviceCount() == 0) return here;
  const c10::Stream current = guard.getStream(guard.getDevice());
  if (current != guard.getDefaultStream(at::Device(*type, 0))) here.stream_ = current;
  return here;
}

std::shared_ptr<void> DeviceStream::Scope::entered(const c10::Stream& stream) {
  return std::make_shared<c10::StreamGuard>(stream);
}

std::optional<c10::Stream> DeviceStream::other() const {
  const c10::Stream current = current_of(stream_->device());
  return current == *stream_ ? std::nullopt : std::optional(current);
}

void DeviceStream::join_in_current() const {
  const std::optional<c10::Stream> current = other();
  if (!current) return;
  c10::Event event(stream_->device_type());
  event.record(*stream_);
  event.block(*current);
}

void DeviceStream::lend_to_current(const at::Tensor& result) const {
  const std::optional<c10::Stream> current = other();
  if (current && !result.is_cpu()) result.record_stream(*current);
}

}  // namespace riesz
