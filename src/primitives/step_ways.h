// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/primitives/operator.h"

namespace riesz {

/// How an operator carries out one of its steps.
enum class StepWay {
  any,      ///< as its rounds say
  awaited,  ///< its messages have come before the constructor of the `Application` returns
  staged    ///< through the host's memory, also if the device transport carries its team
};

/// The ways of the operator's steps for x on this worker. A device transport knows no keys, so its rounds are
/// issued in the order of the program. Rounds that are staged end when their messages come. What follows them
/// in the same operator would be issued at a time of its own. So a step before which one goes between two
/// partitions is staged too: whoever sends there may come much later. All workers know that alike. A step
/// whose team has no communicator is awaited, if a later step's team has one. Waits, when a team is new, as
/// `DeviceTransport::carries`.
c10::SmallVector<StepWay, 4> step_ways(const Operator& A, const at::Tensor& x);

}  // namespace riesz
