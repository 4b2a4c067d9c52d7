// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A program whose last step has a bad value, which nothing settles: the job's end says it.
#include <ATen/ops/full.h>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/pretend_device.h"

namespace {

void check(const at::Tensor& value) {
  RIESZ_CHECK(riesz::host_value(value, 0.0) < 2, "a bad value, ", value.item<double>());
}

}  // namespace

int main(int argc, char** argv) {
  return riesz::run_main(argc, argv, [](int, char**) {
    const riesz::LayerScope layer("wte");
    const auto there = at::device(riesz::testing::pretend_device()).dtype(at::kDouble);
    riesz::check_later(riesz::LateValue(at::full({}, 1., there)), check);
    riesz::check_later(riesz::LateValue(at::full({}, 3., there)), check);
    return 0;
  });
}
