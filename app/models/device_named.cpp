// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/device_named.h"

#include "riesz/comm/device.h"
#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz::app {

at::Device device_named(const std::string& name) {
  RIESZ_CHECK(name == "cpu" || name == "cuda", "the device is ", in_quotes(name), "; it must be cpu or cuda");
  return device_of_this_rank(name == "cuda" ? at::kCUDA : at::kCPU);
}

}  // namespace riesz::app
