// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/fallback.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "riesz/testing/pretend_device/learned.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing::pretend {
namespace {

constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);

/// Those whose tensors have shapes that depend on values.
constexpr std::array<std::string_view, 12> kShapesFromValues{"aten::nonzero",
                                                             "aten::masked_select",
                                                             "aten::_unique",
                                                             "aten::_unique2",
                                                             "aten::unique_dim",
                                                             "aten::unique_consecutive",
                                                             "aten::bincount",
                                                             "aten::repeat_interleave",
                                                             "aten::unique_dim_consecutive",
                                                             "aten::nonzero_numpy",
                                                             "aten::_histogramdd_bin_edges",
                                                             "aten::segment_reduce"};

/// An index of flags is where these are true. One number that is written there needs no shape.
bool has_index_of_flags(const std::string& name, const std::vector<Argument>& arguments) {
  const bool puts =
      name == "aten::index_put" || name == "aten::index_put_" || name == "aten::_index_put_impl_";
  if (!puts && name != "aten::index" && name != "aten::_unsafe_index") return false;
  if (puts && arguments[2].operands.front().host.defined()) return false;
  const std::vector<Operand>& indices = arguments[1].operands;
  return std::any_of(indices.begin(), indices.end(), [](const Operand& each) {
    return each.place && (each.place->type == at::kBool || each.place->type == at::kByte);
  });
}

bool gives_host_value(const c10::FunctionSchema& schema) {
  const auto is_tensor = [](const c10::Argument& each) {
    return each.type()->isSubtypeOf(*c10::TensorType::get()) ||
           each.type()->isSubtypeOf(*c10::ListType::ofTensors());
  };
  return !std::all_of(schema.returns().begin(), schema.returns().end(), is_tensor);
}

bool waits(const c10::OperatorHandle& op, const std::vector<Argument>& arguments) {
  const std::string& name = op.operator_name().name;
  return std::find(kShapesFromValues.begin(), kShapesFromValues.end(), name) != kShapesFromValues.end() ||
         has_index_of_flags(name, arguments) || gives_host_value(op.schema());
}

/// Calls f of each tensor that the operator writes.
template <typename Function>
void each_written(const std::vector<c10::IValue>& given, const std::vector<Argument>& arguments,
                  const Function& f) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].written) continue;
    if (given[i].isTensor())
      f(given[i].toTensor(), arguments[i].operands.front());
    else
      for (std::size_t k = 0; k < arguments[i].operands.size(); ++k)
        f(given[i].toTensorVector()[k], arguments[i].operands[k]);
  }
}

void run_waiting(const c10::OperatorHandle& op, const std::vector<c10::IValue>& given,
                 const std::vector<Argument>& arguments, torch::jit::Stack& results) {
  host_wait(op.operator_name().name);
  torch::jit::Stack stack = on_cpu(arguments, [](const Place& place) {
    const bool grows = std::find(place.sizes.begin(), place.sizes.end(), 0) != place.sizes.end();
    return grows ? at::empty(place.sizes, at::dtype(place.type)) : tensor_at(place);
  });
  const torch::jit::Stack on_host = stack;
  op.redispatchBoxed(kCpu, &stack);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].written || !given[i].isTensor()) continue;
    const at::Tensor x = given[i].toTensor(), made = on_host[i].toTensor();
    if (x.numel() == 0 && made.numel() > 0) bring(made, x.resize_(made.sizes()));
  }
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (const auto argument = written_argument(op.schema(), i))
      results.push_back(given[*argument]);
    else if (stack[i].isTensor() && stack[i].toTensor().defined())
      results.push_back(brought(stack[i].toTensor()));
    else
      results.push_back(stack[i]);
  }
}

/// What is queued: the operator, its arguments, and where the results go.
struct Call {
  c10::OperatorHandle op;
  std::vector<Argument> arguments;
  std::vector<std::vector<std::optional<Place>>> results;  // of each result; none of one that is written

  void operator()() const {
    const at::AutoDispatchBelowADInplaceOrView below;
    torch::jit::Stack stack = on_cpu(arguments, tensor_at);
    op.redispatchBoxed(kCpu, &stack);
    for (std::size_t i = 0; i < results.size(); ++i) {
      for (std::size_t k = 0; k < results[i].size(); ++k) {
        if (!results[i][k]) continue;
        const at::Tensor x = stack[i].isTensor() ? stack[i].toTensor() : stack[i].toTensorVector()[k];
        TORCH_CHECK(x.sizes() == results[i][k]->sizes, op.operator_name(), " gives a tensor of ", x.sizes(),
                    " where one of ", results[i][k]->sizes, " was foreseen: its shape depends on values");
        tensor_at(*results[i][k]).copy_(x);
      }
    }
  }
};

at::Tensor make(const Learned::Made& made) {
  if (!made.type) return {};
  return at::empty_strided(made.sizes, made.strides, at::device(pretend_device()).dtype(*made.type));
}

void run_later(const c10::OperatorHandle& op, const std::vector<c10::IValue>& given,
               std::vector<Argument> arguments, torch::jit::Stack& results) {
  const std::shared_ptr<const Learned> all = learned(op, arguments);
  std::size_t written = 0;
  bool grown = false;
  each_written(given, arguments, [&](const at::Tensor& x, const Operand&) {
    const auto& sizes = all->written[written++];
    if (!x.defined() || x.sizes() == sizes) return;
    x.resize_(sizes);
    grown = true;
  });
  if (grown) arguments = arguments_of(op, given);

  Call call{op, std::move(arguments), {}};
  for (const Learned::Result& result : all->results) {
    std::vector<at::Tensor> made;
    std::vector<std::optional<Place>>& places = call.results.emplace_back();
    for (const Learned::Made& each : result.made) {
      made.push_back(make(each));
      places.push_back(made.back().defined() ? std::optional(place_of(made.back())) : std::nullopt);
    }
    if (result.argument)
      results.push_back(given[*result.argument]);
    else if (result.list)
      results.emplace_back(made);
    else
      results.emplace_back(made.front());
  }
  stream(current_stream()).add(std::move(call));
}

/// The operator that the CPU has in this one's place. LibTorch asks devices that it does not know for
/// convolutions of their own.
c10::OperatorHandle of_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  const auto named = [](const char* other) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(other, "");
  };
  if (name == "aten::convolution_overrideable") return named("aten::convolution");
  if (name != "aten::convolution_backward_overrideable") return op;
  constexpr std::ptrdiff_t kBehindBiasSizes = 7;  // which the CPU's takes too
  stack->insert(stack->end() - kBehindBiasSizes, c10::IValue());
  return named("aten::convolution_backward");
}

}  // namespace

void run_on_stream(const c10::OperatorHandle& asked, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const c10::OperatorHandle op = of_the_cpu(asked, stack);
  const std::vector<c10::IValue> given = torch::jit::pop(*stack, op.schema().arguments().size());
  std::vector<Argument> arguments = arguments_of(op, given);
  if (waits(op, arguments))
    run_waiting(op, given, arguments, *stack);
  else
    run_later(op, given, std::move(arguments), *stack);
}

}  // namespace riesz::testing::pretend
