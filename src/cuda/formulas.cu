// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of the library's point-wise formulas.
#include "riesz/cuda/launch.h"
#include "riesz/nn/layers/activation_formulas.h"
#include "riesz/nn/pointwise/formula_of_element.h"

namespace riesz::cuda {
namespace {

template <template <typename, std::size_t, typename, typename> typename Kernel, typename F, std::size_t N>
const char* launch_formula(const void* arguments, std::int64_t count, std::int64_t elements, void* stream) {
  using Inputs = std::make_index_sequence<N>;
  switch (static_cast<const detail::FormulaArguments*>(arguments)->type) {
    case detail::StoredAs::float32:
      return launch<Kernel<F, N, float, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::float64:
      return launch<Kernel<F, N, double, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::bfloat16:
      return launch<Kernel<F, N, kernels::BFloat16, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::float16:
      return launch<Kernel<F, N, kernels::Half, Inputs>>(arguments, count, elements, stream);
  }
  return "a formula of elements of an unknown type";
}

template <typename F, std::size_t N>
void add(detail::DeviceFormula<F, N>) {
  const std::string name = typeid(detail::DeviceFormula<F, N>).name();
  constexpr std::size_t kSize = sizeof(detail::FormulaArguments);
  registry_add(name + ":value", launch_formula<detail::ValueOfElement, F, N>, kSize);
  registry_add(name + ":gradients", launch_formula<detail::GradientsOfElement, F, N>, kSize);
}

template <typename... Formulas>
bool added(kernels::KernelList<Formulas...>) {
  (add(Formulas{}), ...);
  return true;
}

const bool gelu = added(detail::FormsOf<detail::GeluFormula>{});
const bool gelu_exact = added(detail::FormsOf<detail::GeluExactFormula>{});
const bool relu = added(detail::FormsOf<detail::ReluFormula>{});
const bool silu = added(detail::FormsOf<detail::SiluFormula>{});

}  // namespace
}  // namespace riesz::cuda
