// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

namespace riesz {

class Communicator;
class Recorder;

/// While it lives, this process is the worker of `rank` of a job of `size` workers, of whom there are no
/// others: what it sends is counted and let go, what it expects arrives at once, as zeros. So one process
/// runs one worker's part of a program as it is, to see what it sends: values that others would give are
/// wrong, and what follows from them alone, such as AllToAllV's counts. Partitions, vectors and operators
/// made during it are of no use after it, nor those made before during it. Local.
class Simulation {
 public:
  /// `recorder`: takes down what the worker does, and outlives this; new for each simulation.
  /// @throws Error unless 0 <= rank < size, or outside a Runtime's life, or within another.
  Simulation(int rank, int size, Recorder* recorder = nullptr);
  /// Waits for all that was started. Throws nothing: what went wrong there, and no wait has thrown, ends the
  /// job with the error's text.
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Is one alive? Who judges values, such as whether a loss is finite, asks: here they mean nothing.
  static bool running();

 private:
  int rank_;  // the real ones, for afterwards
  int size_;
  bool checks_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace riesz
