// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// State of values on a device, on the host and on a disk: training is the same, bit for bit, however late the
// device is.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "../zero/training.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/host_place.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

MakeOptimizer adamw_in(const std::shared_ptr<StatePlace>& place) {
  return [place](std::shared_ptr<Store> store) {
    store->keep_state_in(place, LiesThere::state_and_masters);
    return std::make_unique<AdamW>(std::move(store), AdamWOptions{.learning_rate = 1e-2, .epsilon = 1e-6});
  };
}

/// No page ends within a vector register, where the CPU, which computes for the device, rounds otherwise.
Course course_of(int stage, at::ScalarType type) {
  Course course{.batch = 3, .steps = 3, .type = type, .device = pretend_device()};
  course.config = {
      .layers = 1, .heads = 2, .width = 16, .hidden = 48, .vocabulary = 97, .context = 13, .dropout = 0};
  course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .keep = 50};
  return course;
}

TEST(StateElsewhere, OfADeviceChangesNoBit) {
  const SharedFolder folder;
  for (const int stage : {0, 1, 2, 3}) {
    const at::ScalarType type = stage % 2 == 0 ? at::kDouble : at::kBFloat16;
    Course course = course_of(stage, type);
    course.optimizer = adamw_in(nullptr);
    const TrainingRun expected = train(course, spaces::one_d(data_parallel()));
    for (const bool host : {true, false}) {
      for (const Lateness lateness : {Lateness::random, Lateness::latest}) {
        SCOPED_TRACE(concat("stage ", stage, host ? ", host" : ", disk"));
        const LatenessScope late(lateness);
        course.optimizer =
            adamw_in(host ? host_place(4096) : disk_place(folder.path(), {.depth = 1, .page_bytes = 4096}));
        const TrainingRun found = train(course, spaces::one_d(data_parallel()));
        for (const auto& [name, tensor] : expected.results)
          EXPECT_TRUE(at::equal(found.results.at(name), tensor)) << name;
      }
    }
  }
}

TEST(StateElsewhere, OnTheHostIsForDevices) {
  Course course = course_of(0, at::kFloat);
  course.device = at::kCPU;
  course.optimizer = adamw_in(host_place());
  EXPECT_ERROR(train(course, spaces::one_d(data_parallel())), "AdamW: master: the values of ",
               "are on the CPU, so its state lies on the host in any case", "take disk_place");
  EXPECT_ERROR(host_place(1000), "host_place: a page of 1000 bytes; it must be a multiple of 4096");
}

}  // namespace
}  // namespace riesz::testing
