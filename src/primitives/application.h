// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "riesz/primitives/execution.h"
#include "riesz/primitives/operator.h"
#include "riesz/primitives/step_ways.h"

namespace riesz {

/// An application: one operator applied to a vector, or several together, step by step. When it is made, all
/// its messages get their match keys, in program order. Then a waiting thread or the background makes
/// progress. A step that sends, but has no rounds (`Primitive::rounds` returns nullptr), cannot go on in the
/// background. So the constructor computes the last such step, and all steps before it.
///
/// On a device its rounds by the device transport are issued in program order (`step_ways`): the constructor
/// waits for staged steps before them. Its work is queued in the stream that is current where it is made. The
/// stream that is current where it gives a result waits for it.
///
/// Several operators merge their n-th steps: in each round, one message to each peer carries the data of all
/// of them. Nothing is recorded for gradients here.
class Application {
 public:
  /// A x. The operator outlives it. @throws Error as `check_input` does.
  Application(const Operator& A, const at::Tensor& x) : Application(c10::ArrayRef<Operator>(A), x, nullptr) {}
  /// Each A_i x_i, merged. The operators outlive it.
  Application(const std::vector<Operator>& operators, const std::vector<at::Tensor>& xs);

  /// Makes what progress it can without waiting; true at the end.
  bool progress();
  /// Waits for the end.
  void finish();
  /// The text of the current step's operation.
  const std::string& operation() const;
  /// World ranks of the workers whose messages have not arrived.
  std::vector<int> waits_for() const;
  /// The result of operator i, once all is done; given once. It is x itself if nothing changes.
  at::Tensor result(std::size_t i = 0);

 private:
  /// The messages of one step, merged over the operators.
  struct Messages {
    template <typename... Moves>
    Messages(std::size_t number, c10::ArrayRef<std::size_t> operators, const Moves&... moves)
        : step(number), execution(moves...), of(operators) {}

    std::size_t step;
    Execution execution;
    c10::SmallVector<std::size_t, 1> of;  // which operators
  };

  Application(c10::ArrayRef<Operator> operators, c10::ArrayRef<at::Tensor> xs, const Operation* together);

  const Primitive* step_of(std::size_t i, std::size_t step) const;
  Messages* messages_now();
  /// The step of one operator alone that a profile shows, if this worker takes part in it.
  const Primitive* step_shown() const;
  bool prepare(std::size_t step);
  void begin_step();
  bool step_done();
  void end_step();

  c10::ArrayRef<Operator> operators_;
  const Operation* together_;  // nullptr: one operator alone
  DeviceStream stream_;
  c10::SmallVector<StepWay, 4> ways_;  // of one operator alone
  c10::SmallVector<at::Tensor, 1> values_;
  c10::SmallVector<Messages, 1> messages_;  // of the steps that send or receive
  std::size_t sent_ = 0;                    // how many of these are done
  std::size_t step_ = 0;
  std::size_t prepared_ = 0;  // steps
};

/// Computes A x, and waits for it; x itself if nothing changes.
at::Tensor applied(const Operator& A, const at::Tensor& x);

}  // namespace riesz
