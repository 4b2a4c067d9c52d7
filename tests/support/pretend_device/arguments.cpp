// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/arguments.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>
#include <string_view>
#include <utility>

#include "riesz/testing/pretend_device.h"
#include "riesz/testing/pretend_device/generator.h"

namespace riesz::testing::pretend {
namespace {

/// The host may write a number of its own when this has returned.
at::Tensor kept_number(const at::Tensor& x) {
  const at::Tensor kept = x.clone();
  kept.unsafeGetTensorImpl()->set_wrapped_number(x.unsafeGetTensorImpl()->is_wrapped_number());
  return kept;
}

Operand operand_of(const c10::OperatorHandle& op, const at::Tensor& x) {
  if (!x.defined()) return {};
  if (x.device().is_privateuseone()) return {place_of(x), {}};
  TORCH_CHECK(x.dim() == 0, op.operator_name(), " takes tensors of ", pretend_device(), " and one of ",
              x.device(), "; all must be on one device");
  return {{}, kept_number(x)};
}

Argument argument_of(const c10::OperatorHandle& op, const c10::Argument& declared, const c10::IValue& value) {
  const bool written = declared.alias_info() != nullptr && declared.alias_info()->isWrite();
  Argument argument{Argument::Kind::value, {}, {}, written};
  if (value.isTensor()) {
    argument.kind = Argument::Kind::tensor;
    argument.operands.push_back(operand_of(op, value.toTensor()));
  } else if (value.isTensorList()) {
    argument.kind = Argument::Kind::tensors;
    for (const at::Tensor& x : value.toTensorVector()) argument.operands.push_back(operand_of(op, x));
  } else if (value.isOptionalTensorList()) {
    argument.kind = Argument::Kind::optional_tensors;
    for (const auto& x : value.toOptionalTensorVector())
      argument.operands.push_back(operand_of(op, x ? *x : at::Tensor()));
  } else if (value.isDevice()) {
    argument.value = c10::Device(at::kCPU);
  } else if (value.isNone() && declared.name() == "generator") {
    argument.kind = Argument::Kind::generator;
    argument.value = generator_of_one_call();
  } else {
    argument.value = value;
  }
  return argument;
}

c10::IValue on_cpu(const Argument& argument, const std::function<at::Tensor(const Place&)>& tensor_of) {
  const auto tensor = [&](const Operand& each) { return each.place ? tensor_of(*each.place) : each.host; };
  switch (argument.kind) {
    case Argument::Kind::value:
      return argument.value;
    case Argument::Kind::generator:
      return argument.value.toGenerator().clone();
    case Argument::Kind::tensor:
      return tensor(argument.operands.front());
    case Argument::Kind::tensors: {
      c10::List<at::Tensor> list;
      for (const Operand& each : argument.operands) list.push_back(tensor(each));
      return list;
    }
    case Argument::Kind::optional_tensors: {
      c10::List<std::optional<at::Tensor>> list;
      for (const Operand& each : argument.operands) {
        const at::Tensor x = tensor(each);
        list.push_back(x.defined() ? std::optional(x) : std::nullopt);
      }
      return list;
    }
  }
  return {};
}

class Text {
 public:
  template <typename T>
  Text& add(const T& number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Text& add(const Operand& operand) {
    if (!operand.place) {
      if (!operand.host.defined()) return add('u');
      return add('h')
          .add(operand.host.scalar_type())
          .add(operand.host.unsafeGetTensorImpl()->is_wrapped_number());
    }
    const Place& place = *operand.place;
    add('t').add(place.type).add(place.conjugate).add(place.negative).add(place.sizes.size());
    for (std::size_t i = 0; i < place.sizes.size(); ++i) add(place.sizes[i]).add(place.strides[i]);
    return *this;
  }
  /// A real number changes no shape where there are tensors, only its type does. False if there is no text.
  bool add(const c10::IValue& value, bool whole) {
    if (value.isNone() || value.isGenerator() || value.isDevice()) {
      add('n');
    } else if (value.isDouble()) {
      add('d');
      if (whole) add(value.toDouble());
    } else if (value.isInt()) {
      add('i').add(value.toInt());
    } else if (value.isBool()) {
      add('b').add(value.toBool());
    } else if (value.isComplexDouble()) {
      add('c').add(value.toComplexDouble());
    } else if (value.isString()) {
      add('s').add(value.toStringRef().size());
      bytes += value.toStringRef();
    } else if (value.isList()) {
      add('l').add(value.toListRef().size());
      for (const c10::IValue& each : value.toListRef()) {
        if (!add(each, whole)) return false;
      }
    } else {
      return false;
    }
    return true;
  }

  std::string bytes;
};

}  // namespace

std::vector<Argument> arguments_of(const c10::OperatorHandle& op, const std::vector<c10::IValue>& given) {
  std::vector<Argument> arguments;
  arguments.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    arguments.push_back(argument_of(op, op.schema().arguments()[i], given[i]));
  return arguments;
}

torch::jit::Stack on_cpu(const std::vector<Argument>& arguments,
                         const std::function<at::Tensor(const Place&)>& tensor_of) {
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  for (const Argument& argument : arguments) stack.push_back(on_cpu(argument, tensor_of));
  return stack;
}

std::optional<std::string> signature(const c10::OperatorHandle& op, const std::vector<Argument>& arguments) {
  Text text;
  text.bytes = op.operator_name().name + "." + op.operator_name().overload_name;
  bool has_tensors = false;
  for (const Argument& argument : arguments) has_tensors = has_tensors || !argument.operands.empty();
  for (const Argument& argument : arguments) {
    text.add(argument.kind).add(argument.operands.size());
    for (const Operand& operand : argument.operands) text.add(operand);
    if (argument.kind == Argument::Kind::value && !text.add(argument.value, !has_tensors))
      return std::nullopt;
  }
  return std::move(text.bytes);
}

std::optional<std::size_t> written_argument(const c10::FunctionSchema& schema, std::size_t result) {
  const c10::AliasInfo* const alias = schema.returns()[result].alias_info();
  if (alias == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* const of_argument = schema.arguments()[i].alias_info();
    if (of_argument != nullptr && *of_argument == *alias && alias->isWrite()) return i;
  }
  TORCH_CHECK(false, schema.operator_name(), " gives a view; ", pretend_device(),
              " needs a kernel of its own for it");
}

}  // namespace riesz::testing::pretend
