// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/ids.h"

#include <vector>

#include "riesz/comm/on_device.h"

namespace riesz::detail {

at::Device device_of(const TextModel& model) {
  const std::vector<Parameter> parameters = model.module.parameters();
  return parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
}

Vector send_ids(const Space& X, const at::Tensor& ids, at::Device device) {
  return distribute(X.with_shape(ids.sizes().vec()), on_device(ids, device));
}

}  // namespace riesz::detail
