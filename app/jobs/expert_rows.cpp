// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/expert_rows.h"

#include <cmath>
#include <limits>

#include "riesz/app/models/kept_rows.h"
#include "riesz/comm/table_text.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {
namespace {

/// The number of experts: each is expected to be chosen by this part of the tokens, and at most by all.
std::int64_t experts_of(const Experts& experts, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const double expected = experts.expected_rows(shape, 1).computed;
  return expected > 0 ? std::llround(experts.most_rows(shape, kAll).computed / expected) : 1;
}

RowsOfExperts rows_of(const Experts& experts, const TopKGate& gate, const std::vector<std::int64_t>& tokens) {
  std::vector<std::int64_t> shape = tokens;
  shape.push_back(experts.domain()->shape().back());
  double all = 1;
  for (const std::int64_t extent : tokens) all *= static_cast<double>(extent);
  const GateOptions& options = gate.options();
  const auto most = [&](std::int64_t k) { return experts.most_rows(shape, k); };
  const std::int64_t count = experts_of(experts, shape);
  return {experts.path(), kept_rows(experts.expected_rows(shape, options.k), options, count, all),
          most_kept_rows(most, options, count, all)};
}

/// A gate and the experts that it chooses are parts of one module.
void add_rows(const Module& module, const std::vector<std::int64_t>& tokens,
              std::vector<RowsOfExperts>& all) {
  const TopKGate* gate = nullptr;
  for (const Module* part : module.parts()) {
    if (const auto* found = dynamic_cast<const TopKGate*>(part)) gate = found;
    const auto* experts = dynamic_cast<const Experts*>(part);
    if (experts == nullptr || gate == nullptr)
      add_rows(*part, tokens, all);
    else if (experts->domain()->partition().active())
      all.push_back(rows_of(*experts, *gate, tokens));
  }
}

std::string number(double rows) { return grouped(std::llround(rows)); }

}  // namespace

std::vector<RowsOfExperts> rows_of_experts(const Module& model, const std::vector<std::int64_t>& tokens) {
  std::vector<RowsOfExperts> all;
  add_rows(model, tokens, all);
  return all;
}

std::string to_string(const std::vector<RowsOfExperts>& layers) {
  if (layers.empty()) return "";
  std::vector<std::vector<std::string>> lines{
      {"", "sends", "at most", "gets", "at most", "computes", "at most"}};
  for (const auto& [layer, expected, most] : layers)
    lines.push_back({layer, number(expected.sent), number(most.sent), number(expected.received),
                     number(most.received), number(expected.computed), number(most.computed)});
  return "rows of tokens that go to experts in a micro-batch, as counted above, where the gate chooses all "
         "equally often; and the most\n" +
         table_text(lines, "lrrrrrr", "  ");
}

}  // namespace riesz::app
