// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/late_value.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

namespace riesz {

struct LateValue::Event {
  explicit Event(c10::Device device) : event(device.type()) {
    event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  }
  c10::Event event;
};

LateValue::LateValue(const at::Tensor& x) {
  const at::NoGradGuard no_gradient;
  const at::Tensor values = x.detach();
  if (values.is_cpu()) {
    copy_ = values.clone();
    return;
  }
  const c10::DeviceGuard here(values.device());
  copy_ = at::empty(values.sizes(), values.options().device(at::kCPU).pinned_memory(true));
  copy_.copy_(values, /*non_blocking=*/true);
  event_ = std::make_shared<const Event>(values.device());
}

bool LateValue::ready() const { return event_ == nullptr || event_->event.query(); }

const at::Tensor& LateValue::wait() const {
  if (!ready()) event_->event.synchronize();
  return copy_;
}

}  // namespace riesz
