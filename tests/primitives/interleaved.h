// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace riesz::testing {

/// What a thread of a worker does next in one of its channels.
struct Act {
  enum class Kind {
    call,  ///< y = A y, by the next operator of the channel's way
    start,
    wait,         ///< the same in two halves
    begin_aside,  ///< starts an operator whose result nobody uses,
    wait_aside,   ///< and waits for it,
    drop_aside,   ///< or drops it
    back,         ///< backward through the whole channel
  };
  Kind kind;
  std::size_t channel;
  std::size_t of = 0;  ///< which operator of the way, or which aside

  bool operator==(const Act&) const = default;
};

/// A random program as data: channels, each with a way of operators, and what every thread of every worker
/// does in which order. A pure function of the seed and the number of workers.
struct InterleavedProgram {
  struct Channel {
    int number;
    std::uint64_t seed;  ///< of its spaces and values
    std::size_t moves = 0, asides = 0;
    std::vector<Act> acts;  ///< in the order that all workers keep
    bool single = false;    ///< its numbers are of fp32
  };
  std::uint64_t seed = 0;
  std::vector<Channel> channels;
  std::vector<std::vector<std::vector<Act>>> acts;  ///< by rank and thread
  std::int64_t untaken = 0;                         ///< for `set_most_untaken`
};

/// How the channels of one thread take turns.
enum class Turns {
  alike,  ///< in one order on all workers
  apart,  ///< in an order of each worker's own: all begin something, then all wait for it
  wild,   ///< in any order on each worker; it may be a circle of waiting
};

InterleavedProgram interleaved_program(std::uint64_t seed, int workers, Turns turns);

/// A program of one worker that does something else than in `program`: it leaves an operator out, has two in
/// another order, of one channel or of two, or sends other numbers of bytes.
struct BrokenProgram {
  int rank;
  InterleavedProgram program;
  std::string what;  ///< the change in words
};
BrokenProgram broken(const InterleavedProgram& program, std::uint64_t seed);

}  // namespace riesz::testing
