// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/gate_report.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <string>

#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

void find_gates(const Module& module, std::vector<const TopKGate*>& gates) {
  if (const auto* gate = dynamic_cast<const TopKGate*>(&module)) gates.push_back(gate);
  for (const Module* part : module.parts()) find_gates(*part, gates);
}

/// The stages' workers at this one's place in them.
std::vector<std::string> axes_of_stages(const Partition& workers) {
  if (workers.find("pp") >= 0) return {"pp"};
  std::vector<std::string> all;
  for (const Axis& axis : workers.axes()) all.push_back(axis.name);
  return all;
}

/// The greatest share over the mean share; the dropped share; the entropy.
at::Tensor row_numbers(const GateStatistics& gate) {
  const auto experts = static_cast<double>(gate.load.numel());
  return at::stack({gate.load.amax({0}).mul(experts), gate.dropped, gate.entropy});
}

/// Of a stage without gates too: its messages lie where the other stages' do.
at::TensorOptions type_of_numbers(const Module& model) {
  const std::vector<Parameter> parameters = model.parameters();
  const at::TensorOptions type(at::kDouble);
  return parameters.empty() ? type : type.device(parameters.front().device());
}

}  // namespace

GateReport::GateReport(const Module& model, const Partition& workers) : model_(model), workers_(workers) {
  find_gates(model, gates_);
}

LateNumbers GateReport::of_step(std::int64_t step) const {
  if (gates_.empty()) return {};
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> of_gates;
  at::TensorOptions type = type_of_numbers(model_);
  for (const TopKGate* gate : gates_) {
    const std::optional<GateStatistics> statistics = gate->statistics_of(step);
    of_gates.push_back(statistics ? row_numbers(*statistics) : at::Tensor());
    if (statistics) type = of_gates.back().options();
  }
  for (at::Tensor& elsewhere : of_gates)
    if (!elsewhere.defined()) elsewhere = at::zeros({3}, type);
  at::Tensor all = at::stack(of_gates);
  // Of each gate one stage has numbers, none below 0, and the others have zeros.
  if (model_.stages() != nullptr) all = all_max(workers_, axes_of_stages(workers_), all);
  return LateNumbers(
      at::stack({all.select(1, 0).amax({0}), all.select(1, 1).mean(), all.select(1, 2).mean()}));
}

std::optional<ExpertRow> GateReport::row_of(const LateNumbers& numbers) {
  if (numbers.size() == 0) return std::nullopt;
  return ExpertRow{numbers[0], numbers[1], numbers[2]};
}

}  // namespace riesz
