// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

/// The row of one worker: what it does next, each pass with the micro-batches 0, 1, 2, … Half 0 is its chunk
/// on the way down the V, half 1 that on the way up. Micro-batches from m on are done by nobody.
class VRow {
 public:
  VRow(int worker, int workers, int m) : chunks_{worker, 2 * workers - 1 - worker}, m_(m) {}

  void forward(int half) { add(Pass::forward, half, forward_[half]); }
  void inputs(int half) { add(Pass::backward_inputs, half, inputs_[half]); }
  void weights(int half) { add(Pass::backward_weights, half, weights_[half]); }
  void backward(int half) {
    inputs(half);
    weights(half);
  }
  int forward_done(int half) const { return forward_[half]; }
  bool weights_left(int half) const { return weights_[half] < inputs_[half]; }
  std::vector<Action> row() const { return row_; }

 private:
  void add(Pass pass, int half, int& next) {
    if (next < m_) row_.push_back({pass, chunks_[half], next});
    ++next;
  }

  std::array<int, 2> chunks_;
  int m_;
  std::array<int, 2> forward_{}, inputs_{}, weights_{};
  std::vector<Action> row_;
};

void repeat(int times, const auto& step) {
  for (int i = 0; i < times; ++i) step();
}

std::vector<Action> row_of(int r, int p, int m) {
  const int n = std::max(m, 2 * p - 1);  // the rule fills the V; of fewer micro-batches it has gaps
  VRow row(r, p, m);
  // Down and up the V.
  repeat(2 * (p - r) - 1, [&] { row.forward(0); });
  repeat(r, [&] {
    row.forward(1);
    row.forward(0);
  });
  repeat(p - r, [&] {
    row.forward(1);
    row.backward(1);
  });
  // Both halves in turn.
  while (row.forward_done(1) < n) {
    if (row.forward_done(0) < n) row.forward(0);
    row.backward(0);
    row.forward(1);
    row.backward(1);
  }
  // Inputs first, for others wait for them; weights fill what is left.
  repeat(r, [&] {
    row.inputs(0);
    row.inputs(1);
  });
  repeat(p - r, [&] {
    row.inputs(0);
    row.weights(0);
  });
  for (const int half : {1, 0}) {
    while (row.weights_left(half)) row.weights(half);
  }
  return row.row();
}

}  // namespace

Schedule zb_v(const ScheduleOptions& options) {
  check_options("zb_v", options, 2);
  Schedule table{v_shaped(options.stages), options.micro_batches, {}};
  for (int r = 0; r < options.stages; ++r)
    table.rows.push_back(row_of(r, options.stages, options.micro_batches));
  return aligned(table);
}

}  // namespace riesz::schedules
