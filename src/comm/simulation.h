// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

namespace riesz {

class Communicator;
class Recorder;

/// A simulation: a scope in which this process is worker `rank` of a job of `size` workers, and the others do
/// not exist. Its sends are counted and dropped; its receives arrive immediately, as zeros. So one process
/// can run one worker's part of a program, to see what it sends. Values that others would send are wrong, and
/// so is what follows from them, such as AllToAllV's counts. Partitions, vectors and operators made in a
/// simulation are invalid after it. Those made before it are invalid in it. All workers count as on one host,
/// unless RIESZ_HOSTS says how many are on each. Local.
class Simulation {
 public:
  /// `recorder` records what the worker does, and outlives this. Each simulation needs a new one.
  /// @throws Error unless 0 <= rank < size, or outside a Runtime's life, or within another.
  Simulation(int rank, int size, Recorder* recorder = nullptr);
  /// Waits for all that was started. Throws nothing: a failure that no wait has thrown ends the job with its
  /// text.
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// True while a simulation lives. Code that judges values, such as whether a loss is finite, asks this
  /// first: in a simulation values mean nothing.
  static bool running();
  /// The number of the job that this process is in now: 0 for the real one, another for each simulation. So
  /// plans of one job are not taken for those of another.
  static std::uint64_t job();

 private:
  int rank_;  // the real ones, for afterwards
  int size_;
  bool checks_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace riesz
