// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/learned.h"

#include <ATen/Parallel.h>

#include <mutex>
#include <unordered_map>
#include <utility>

#include "riesz/testing/pretend_device.h"

namespace riesz::testing::pretend {
namespace {

/// The strides that a result has on the device: those of the CPU, but that no two elements are one.
Learned::Made made_as(const at::Tensor& x) {
  if (!x.defined()) return {};
  const bool dense = x.is_non_overlapping_and_dense();
  return {Extents(x.sizes()), Extents(dense ? x.strides() : x.contiguous().strides()), x.scalar_type()};
}

std::shared_ptr<const Learned> learned_with(const c10::OperatorHandle& op,
                                            const std::vector<Argument>& arguments, double value) {
  torch::jit::Stack stack = on_cpu(arguments, [&](const Place& place) { return stand_in_for(place, value); });
  const std::vector<c10::IValue> given = stack;  // results that are written arguments refer to these
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);

  auto all = std::make_shared<Learned>();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].written) continue;
    if (given[i].isTensor())
      all->written.emplace_back(given[i].toTensor().sizes());
    else
      for (const at::Tensor& x : given[i].toTensorVector()) all->written.emplace_back(x.sizes());
  }
  for (std::size_t i = 0; i < stack.size(); ++i) {
    Learned::Result result{written_argument(op.schema(), i)};
    if (result.argument) {
    } else if (stack[i].isTensor()) {
      result.made.push_back(made_as(stack[i].toTensor()));
    } else {
      TORCH_CHECK(stack[i].isTensorList(), op.operator_name(),
                  " gives what is not known before it has run on ", pretend_device());
      result.list = true;
      for (const at::Tensor& x : stack[i].toTensorVector()) result.made.push_back(made_as(x));
    }
    all->results.push_back(std::move(result));
  }
  return all;
}

std::shared_ptr<const Learned> learned_anew(const c10::OperatorHandle& op,
                                            const std::vector<Argument>& arguments) {
  thread_local const bool threads_set = (at::init_num_threads(), true);
  static_cast<void>(threads_set);
  std::exception_ptr with_zeros;
  try {
    return learned_with(op, arguments, 0);
  } catch (...) {
    with_zeros = std::current_exception();
  }
  try {
    return learned_with(op, arguments, 1);
  } catch (...) {
    std::rethrow_exception(with_zeros);
  }
}

}  // namespace

std::shared_ptr<const Learned> learned(const c10::OperatorHandle& op,
                                       const std::vector<Argument>& arguments) {
  static std::mutex mutex;
  static auto& table = *new std::unordered_map<std::string, std::shared_ptr<const Learned>>;
  const std::optional<std::string> key = signature(op, arguments);
  if (!key) return learned_anew(op, arguments);
  {
    const std::lock_guard lock(mutex);
    const auto found = table.find(*key);
    if (found != table.end()) return found->second;
  }
  std::shared_ptr<const Learned> anew = learned_anew(op, arguments);
  const std::lock_guard lock(mutex);
  return table.emplace(*key, std::move(anew)).first->second;
}

}  // namespace riesz::testing::pretend
