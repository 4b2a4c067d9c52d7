// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "interleaved.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/operator.h"
#include "riesz/primitives/pending.h"

namespace riesz::testing {

/// A channel of a random program on this worker: its operators, its chain, and how far its vector has come. A
/// whole number follows each operator, so that what is meant stays exact.
class ChannelRun {
 public:
  /// On a device of that kind; of whole numbers, or of any.
  explicit ChannelRun(const InterleavedProgram::Channel& channel, at::Device device = at::kCPU,
                      bool whole = true);

  /// In a simulation, an operator whose turn it is not gets zeros.
  void carry_out(const Act& act);
  /// Is all as on one worker? The operators keep the vector meant, there and back. Collective.
  void expect_meaning() const;
  /// y and the gradient of x, of this worker, in host memory.
  std::vector<at::Tensor> results() const;

 private:
  void begin_aside(std::size_t aside);
  Vector zeros(const Space& X) const;
  Vector here_of(const Space& X, const std::vector<at::Tensor>& parts) const;
  Vector fitting(const Space& X) const;
  void back();

  int number_;
  at::TensorOptions options_;
  std::vector<Operator> moves_, asides_;
  std::vector<double> factors_;  // by operator of the way
  std::vector<at::Tensor> x_parts_, ybar_parts_;
  std::optional<Vector> x_, y_;
  std::map<std::size_t, Pending> pending_, pending_asides_;
  Chain chain_;
};

/// All channels of a program on this worker, made alike in a simulation.
std::vector<std::unique_ptr<ChannelRun>> channels_of(const InterleavedProgram& program);

/// Carries out what the worker of this rank does, each thread at a pace of its own.
void carry_out(const InterleavedProgram& program, int rank,
               std::vector<std::unique_ptr<ChannelRun>>& channels);

}  // namespace riesz::testing
