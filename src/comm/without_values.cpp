// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/without_values.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/without_values/reserved_memory.h"
#include "riesz/comm/without_values/shape_rules.h"

namespace riesz {
namespace {

/// A dispatch key that LibTorch leaves to others for such a use: below autograd, above every device's.
constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

using torch::jit::Stack;

enum class Way {
  as_it_is,  // it computes nothing, or is made of others
  in_place,  // nothing is left to do
  by_shape,  // its kernel for tensors without memory says the shapes
  by_rule,   // ours does
  none,
};

bool writes(const c10::AliasInfo* info) { return info != nullptr && info->isWrite(); }

bool is_view(const c10::FunctionSchema& schema) {
  bool any = false;
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() == nullptr || writes(result.alias_info())) return false;
    any = true;
  }
  return any;
}

/// May an argument that it writes to be resized?
bool has_out(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.is_out()) return true;
  }
  return false;
}

bool all_written(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (!writes(result.alias_info())) return false;
  }
  for (const c10::Argument& argument : schema.arguments()) {
    if (writes(argument.alias_info())) return true;
  }
  return false;
}

Way way_of(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  if (shape_rule(schema) != nullptr) return Way::by_rule;
  if (is_view(schema) || op.hasTag(at::Tag::inplace_view) || name == "aten::empty" ||
      name == "aten::empty_strided" || name == "aten::set_" || name == "aten::_fused_sdp_choice")
    return Way::as_it_is;
  if (all_written(schema) && !has_out(schema)) return Way::in_place;
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CPU)) return Way::as_it_is;
  return op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ? Way::by_shape : Way::none;
}

/// Found once for each function, in each thread.
Way known_way_of(const c10::OperatorHandle& op) {
  thread_local std::unordered_map<const c10::FunctionSchema*, Way> known;
  const auto [at, fresh] = known.try_emplace(&op.schema(), Way::none);
  if (fresh) at->second = way_of(op);
  return at->second;
}

/// The same without memory.
at::Tensor without_memory(const at::Tensor& x) {
  if (!x.defined() || !x.is_cpu()) return x;
  at::Tensor like = at::detail::empty_strided_meta(x.sizes(), x.strides(), x.scalar_type());
  if (x.unsafeGetTensorImpl()->is_wrapped_number()) like.unsafeGetTensorImpl()->set_wrapped_number(true);
  return like;
}

c10::IValue without_memory(const c10::IValue& value) {
  if (value.isTensor()) return without_memory(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> all;
    for (const at::Tensor& each : value.toTensorList()) all.push_back(without_memory(each));
    return all;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> all;
    for (const std::optional<at::Tensor>& each : value.toOptionalTensorList())
      all.push_back(each ? std::optional(without_memory(*each)) : std::nullopt);
    return all;
  }
  if (value.isDevice()) return c10::Device(c10::kMeta);
  return value;
}

/// A new tensor like one without memory.
c10::IValue with_memory(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& x = value.toTensor();
    if (!x.defined()) return value;
    return at::Tensor(at::detail::empty_strided_cpu(x.sizes(), x.strides(), x.scalar_type()));
  }
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> all;
  for (const at::Tensor& each : value.toTensorList()) all.push_back(with_memory(each).toTensor());
  return all;
}

void call_by_shape(const c10::OperatorHandle& op, Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t n = schema.arguments().size();
  const std::vector<c10::IValue> given(stack->end() - static_cast<std::ptrdiff_t>(n), stack->end());
  for (auto each = stack->end() - static_cast<std::ptrdiff_t>(n); each != stack->end(); ++each)
    *each = without_memory(*each);
  const std::vector<c10::IValue> shapes(stack->end() - static_cast<std::ptrdiff_t>(n), stack->end());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
  std::map<c10::Symbol, at::Tensor> written;  // by the name of its memory
  for (std::size_t i = 0; i < n; ++i) {
    if (!writes(schema.arguments()[i].alias_info()) || !given[i].isTensor()) continue;
    const at::Tensor& x = given[i].toTensor();
    const at::Tensor& shape = shapes[i].toTensor();
    if (x.sizes() != shape.sizes()) x.resize_(shape.sizes());
    written[*schema.arguments()[i].alias_info()->beforeSets().begin()] = x;
  }
  const std::size_t results = schema.returns().size();
  for (std::size_t i = 0; i < results; ++i) {
    c10::IValue& result = (*stack)[stack->size() - results + i];
    const c10::AliasInfo* info = schema.returns()[i].alias_info();
    result = writes(info) ? c10::IValue(written.at(*info->beforeSets().begin())) : with_memory(result);
  }
}

/// It writes to what it is given and returns that.
void call_in_place(const c10::OperatorHandle& op, Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t n = schema.arguments().size();
  std::vector<c10::IValue> results;
  for (const c10::Argument& result : schema.returns()) {
    for (std::size_t i = 0; i < n; ++i) {
      const c10::AliasInfo* info = schema.arguments()[i].alias_info();
      if (!writes(info) || info->beforeSets() != result.alias_info()->beforeSets()) continue;
      results.push_back((*stack)[stack->size() - n + i]);
      break;
    }
  }
  stack->erase(stack->end() - static_cast<std::ptrdiff_t>(n), stack->end());
  stack->insert(stack->end(), results.begin(), results.end());
}

void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  switch (known_way_of(op)) {
    case Way::as_it_is:
      // What it is made of comes here again.
      return op.redispatchBoxed(below, stack);
    case Way::in_place:
      return call_in_place(op, stack);
    case Way::by_shape: {
      const c10::impl::ExcludeDispatchKeyGuard here(kKey);
      return call_by_shape(op, stack);
    }
    case Way::by_rule: {
      const c10::impl::ExcludeDispatchKeyGuard here(kKey);
      return shape_rule(op.schema())(stack, op.schema().arguments().size());
    }
    case Way::none:
      break;
  }
  throw_error(
      concat(op.schema().name(),
             ": its result's shape is not known without values (WithoutValues); read what a program goes "
             "by with host_value, or give the function a rule in shape_rules.cpp"));
}

TORCH_LIBRARY_IMPL(_, Fake, all) { all.fallback(torch::CppFunction::makeFromBoxedFunction<&call>()); }

}  // namespace

WithoutValues::WithoutValues()
    : outer_(c10::impl::tls_is_dispatch_key_included(kKey)), allocator_(c10::GetCPUAllocator()) {
  static c10::Allocator* const reserved = reserved_memory(allocator_);
  c10::SetCPUAllocator(reserved, kScopedAllocator);
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

WithoutValues::~WithoutValues() {
  c10::impl::tls_set_dispatch_key_included(kKey, outer_);
  c10::SetCPUAllocator(allocator_, kScopedAllocator);
}

bool has_values() { return !c10::impl::tls_is_dispatch_key_included(kKey); }

}  // namespace riesz
