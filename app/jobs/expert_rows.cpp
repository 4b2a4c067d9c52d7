// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/expert_rows.h"

#include <cmath>

#include "riesz/comm/table_text.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/train/config/number_text.h"

namespace riesz::app {
namespace {

/// A gate and the experts that it chooses are parts of one module.
void add_rows(const Module& module, const std::vector<std::int64_t>& tokens,
              std::vector<RowsOfExperts>& all) {
  std::int64_t k = 0;
  for (const Module* part : module.parts()) {
    if (const auto* gate = dynamic_cast<const TopKGate*>(part)) k = gate->options().k;
    const auto* experts = dynamic_cast<const Experts*>(part);
    if (experts == nullptr || k == 0) {
      add_rows(*part, tokens, all);
    } else if (experts->domain()->partition().active()) {
      std::vector<std::int64_t> shape = tokens;
      shape.push_back(experts->domain()->shape().back());
      all.push_back({experts->path(), experts->expected_rows(shape, k), experts->most_rows(shape, k)});
    }
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
