// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/scale.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/primitives/between.h"

namespace riesz::testing {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.detach().to(at::kDouble).abs().max().item<double>();
}

std::string differing_names(const char* what, const Tensors& run, const Tensors& reference) {
  std::string text;
  for (const auto& [name, tensor] : run) {
    if (!reference.contains(name)) text += concat("\n  ", what, " \"", name, "\" is not in the reference");
  }
  for (const auto& [name, tensor] : reference) {
    if (!run.contains(name)) text += concat("\n  ", what, " \"", name, "\" is only in the reference");
  }
  return text;
}

std::string different_shape(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() == b.sizes()) return "";
  return concat("\n  \"", name, "\" has shape ", a.sizes(), ", in the reference ", b.sizes());
}

std::string compare_initial(const Tensors& run, const Tensors& reference) {
  std::string text;
  for (const auto& [name, a] : run) {
    const at::Tensor& b = reference.at(name);
    const std::string shape = different_shape(name, a, b);
    text += shape;
    if (shape.empty() && !at::equal(a, b)) {
      text += concat("\n  initial \"", name, "\" is not the same: max|a - b| = ", largest(a.sub(b)));
    }
  }
  return text;
}

std::string compare_results(const Tensors& run, const Tensors& reference, double relative) {
  double largest_of_all = 0;
  for (const auto& [name, b] : reference) largest_of_all = std::max(largest_of_all, largest(b));
  std::string text;
  for (const auto& [name, a] : run) {
    const at::Tensor& b = reference.at(name);
    const std::string shape = different_shape(name, a, b);
    text += shape;
    if (!shape.empty()) continue;
    const double difference = largest(a.detach().to(at::kDouble).sub(b.detach().to(at::kDouble)));
    const double bound = relative * std::max(largest(b), 1e-6 * largest_of_all);
    if (difference <= bound) continue;  // not so for NaN
    text += concat("\n  \"", name, "\": max|a - b| = ", difference, " > ", bound, ", its largest entry is ",
                   largest(a), ", in the reference ", largest(b), ", ratio ", largest(a) / largest(b));
  }
  return text;
}

Partition alone(const Partition& mesh) {
  const Partition world = Partition::world();
  std::vector<Axis> axes = mesh.axes();
  for (Axis& axis : axes) axis.extent = 1;
  return world.subset({world.rank()}).grid(axes);
}

}  // namespace

at::Tensor TrainingRun::gathered(const Module& module, const Vector& x) {
  const at::NoGradGuard guard;
  const Stages* stages = module.stages();
  if (stages == nullptr) return full_tensor(x);
  Partition all = stages->spaces(0).mesh();
  for (int stage = 1; stage < stages->size(); ++stage) all = all | stages->spaces(stage).mesh();
  Space replicated(all, x.space().shape());
  for (int dim = 0; dim < replicated.dims(); ++dim) replicated = replicated.unit(dim, x.space().unit_of(dim));
  return between(x.space(), replicated)(x).local().detach().clone();
}

void TrainingRun::add_initial(const Module& module) {
  const at::NoGradGuard guard;
  for (const Parameter& parameter : module.parameters())
    initial[parameter.name()] = gathered(module, parameter.value());
}

void TrainingRun::add_gradients(const Module& module) {
  const at::NoGradGuard guard;
  for (const Parameter& parameter : module.parameters()) {
    results["gradient of " + parameter.name()] = gathered(module, parameter.gradient());
  }
}

void TrainingRun::add_weights(const Module& module) {
  const at::NoGradGuard guard;
  for (const Parameter& parameter : module.parameters()) {
    results[parameter.name() + " after training"] = gathered(module, parameter.value());
  }
}

::testing::AssertionResult compare_runs(const TrainingRun& run, const TrainingRun& reference, double bound) {
  std::string wrong = differing_names("initial", run.initial, reference.initial) +
                      differing_names("result", run.results, reference.results);
  if (run.initial.empty() || run.results.empty()) wrong += "\n  there is nothing to compare";
  if (wrong.empty()) {
    wrong = compare_initial(run.initial, reference.initial) +
            compare_results(run.results, reference.results, bound);
  }
  if (wrong.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the run is not the reference:" << wrong;
}

void expect_same_bits(const TrainingRun& run, const TrainingRun& reference) {
  ASSERT_FALSE(reference.results.empty());
  ASSERT_EQ(run.results.size(), reference.results.size());
  for (const auto& [name, tensor] : reference.results) {
    const auto found = run.results.find(name);
    ASSERT_NE(found, run.results.end()) << name;
    EXPECT_TRUE(at::equal(found->second, tensor)) << name;
  }
}

::testing::AssertionResult is_scale_equivalent(const MakeRun& make, const std::vector<Partition>& meshes,
                                               int steps) {
  std::string wrong = meshes.empty() ? "no mesh is given" : "";
  for (const Partition& mesh : meshes) {
    const TrainingRun reference = make(alone(mesh), steps);
    const TrainingRun run = make(mesh, steps);
    if (!mesh.active()) continue;
    const ::testing::AssertionResult same = compare_runs(run, reference);
    if (!same) wrong += concat("on ", to_string(mesh), " ", same.message(), "\n");
  }
  if (wrong.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << wrong;
}

}  // namespace riesz::testing
