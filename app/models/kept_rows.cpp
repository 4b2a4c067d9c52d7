// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/kept_rows.h"

#include <algorithm>

#include "riesz/nn/experts/expert_capacity.h"

namespace riesz::app {
namespace {

/// Rows of some tokens, whose choices fill one expert after another.
class Filled {
 public:
  Filled(double tokens, std::int64_t k) : tokens_(tokens), left_(tokens * static_cast<double>(k)) {}

  /// The next expert, which has so many rows where all tokens choose it.
  void add_expert(double rows_of_all, double capacity) {
    const double taken = std::min({tokens_, capacity, left_});
    if (taken <= 0) return;
    rows_ += rows_of_all / tokens_ * taken;
    left_ -= taken;
  }
  bool is_done() const { return left_ <= 0; }
  double rows() const { return rows_; }

 private:
  double tokens_, left_, rows_ = 0;
};

}  // namespace

ExpertRows kept_rows(const ExpertRows& expected, const GateOptions& gate, std::int64_t experts,
                     double tokens) {
  const double choices = tokens * static_cast<double>(gate.k);
  if (gate.drop == GateOptions::Drop::none || choices == 0) return expected;
  const double taken = expert_capacity(gate, experts, tokens) * static_cast<double>(experts);
  const double kept = std::min(1.0, taken / choices);
  return {expected.sent * kept, expected.received * kept, expected.computed * kept};
}

ExpertRows most_kept_rows(const std::function<ExpertRows(std::int64_t k)>& most, const GateOptions& gate,
                          std::int64_t experts, double tokens) {
  if (gate.drop == GateOptions::Drop::none) return most(gate.k);
  const double capacity = expert_capacity(gate, experts, tokens);
  const ExpertRows of_one = most(1);  // a choice of an expert that lies here alone, or elsewhere
  const double all = of_one.computed, others = of_one.received;
  Filled sent(all - others, gate.k), received(others, gate.k), computed(all, gate.k);
  ExpertRows before;
  for (std::int64_t k = 1; k <= experts; ++k) {
    if (sent.is_done() && received.is_done() && computed.is_done()) break;
    const ExpertRows with = most(k);
    sent.add_expert(with.sent - before.sent, capacity);
    received.add_expert(with.received - before.received, capacity);
    computed.add_expert(with.computed - before.computed, capacity);
    before = with;
  }
  return {sent.rows(), received.rows(), computed.rows()};
}

}  // namespace riesz::app
