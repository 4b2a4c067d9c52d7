// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// The buffers of an execution: x, y, and what arrives from others. Contiguous parts are sent and received in
/// place; others are packed once.
class Buffers {
 public:
  /// `operation` and `rounds` outlive it.
  Buffers(const Operation& operation, const Rounds& rounds) : operation_(&operation), rounds_(&rounds) {}

  const Operation& operation() const { return *operation_; }
  const Rounds& rounds() const { return *rounds_; }
  std::int64_t element_size() const { return element_size_; }
  at::ScalarType type() const { return own_type_; }
  at::Device device() const { return options_.device(); }
  bool in_host_memory() const { return in_host_memory_; }

  void begin(at::Tensor x);
  /// Appends the messages of a round.
  void collect(const Round& round, std::vector<Transfer>& sends, std::vector<Transfer>& receives);
  /// x and a new y, for the rounds' collective of a device's library.
  std::pair<at::Tensor, at::Tensor> ends();
  /// Does the part of the round that needs no messages, while messages travel.
  void keep(const Round& round);
  /// Makes y, or a chunk of it, from the messages that have come.
  void combine(const Round& round);
  /// y, after the last round; all other buffers are freed.
  at::Tensor finish();

 private:
  friend class SmallRound;

  at::ScalarType own_type() const { return own_type_; }
  at::ScalarType type_of(Round::Type type) const;
  const at::Tensor& source(const Round& round) const { return round.source == Round::Source::x ? x_ : y_; }
  TensorSpan sent(const at::Tensor& source, const Round::Send& send, at::ScalarType type) const;
  at::IntArrayRef y_shape() const { return rounds_->flat ? x_.sizes() : at::IntArrayRef(rounds_->y_shape); }
  at::Tensor flat(const at::Tensor& whole) const { return rounds_->flat ? whole.view({-1}) : whole; }
  at::Tensor own_term(const Round& round) const;
  void make_y(bool fills);
  void receive_in_place(const Round& round, std::vector<Transfer>& receives);
  void receive_terms(const Round& round, std::vector<Transfer>& receives);
  void convert_terms(const Round& round);
  void copy_parts(const Round& round);
  void add_cells(const Round& round);

  const Operation* operation_;
  const Rounds* rounds_;
  at::TensorOptions options_;
  at::ScalarType own_type_ = at::kFloat;  // x's
  std::int64_t element_size_ = 0;
  bool in_host_memory_ = false;
  at::Tensor x_, y_;
  std::vector<at::Tensor> buffers_;  // by receive; undefined where they go straight into y
  bool combined_ = false;            // already, as messages came
};

}  // namespace riesz
