// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/node_layer.h"

#include <torch/csrc/autograd/custom_function.h>

#include "riesz/comm/counters.h"

namespace riesz::detail {
namespace {

constexpr const char* kKey = "layer";

struct OriginCapsule : torch::CustomClassHolder {
  std::shared_ptr<const Origin> origin;
};

}  // namespace

void save_layer(torch::autograd::AutogradContext* context) {
  if (!Counters::instance().recording()) return;
  const std::shared_ptr<const Origin> here = LayerScope::current();
  auto capsule = c10::make_intrusive<OriginCapsule>();
  capsule->origin = std::make_shared<const Origin>(Origin{here ? here->layer : "", Phase::backward});
  context->saved_data[kKey] = c10::IValue::make_capsule(std::move(capsule));
}

LayerScope saved_layer(torch::autograd::AutogradContext* context) {
  const auto found = context->saved_data.find(kKey);
  if (found == context->saved_data.end()) return LayerScope();
  return LayerScope(static_cast<const OriginCapsule&>(*found->second.toCapsule()).origin);
}

}  // namespace riesz::detail
