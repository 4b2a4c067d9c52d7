// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/kernel_stand_in.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/kernels/list.h"
#include "riesz/nn/kernels/device_lists.h"
#include "riesz/nn/kernels/rows.h"
#include "riesz/nn/pointwise/formula_of_element.h"
#include "riesz/testing/block_stand_in.h"
#include "riesz/testing/pretend_device/device_memory.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing {
namespace {

struct Entry {
  Launch function;
  std::size_t size;
};
std::map<std::string, Entry> entries;

std::mutex counts_mutex;
std::map<std::string, std::int64_t> counts;

void count(const std::string& name) {
  const std::lock_guard lock(counts_mutex);
  ++counts[name];
}

std::atomic<bool> by_blocks = false;

/// Rows one after another, as a GPU has them one beside another.
template <typename Kernel>
void run_rows(const Kernel& kernel, std::int64_t rows, std::int64_t elements, bool as_blocks) {
  if (!as_blocks) return detail::for_each_row(rows, elements, kernel);
  for (std::int64_t row = 0; row < rows; ++row)
    run_block(cuda::threads_of_row(elements), static_cast<std::uint64_t>(row),
              [&] { kernel(cuda::Block{}, row); });
}

/// The kernel with the host's addresses in place of the device's, which are far from all other numbers in it.
template <typename Kernel>
Kernel with_host_addresses(const void* kernel) {
  constexpr std::uint64_t kAddresses = std::uint64_t{1} << 47;  // below this are those of a process
  const auto first = reinterpret_cast<std::uint64_t>(pretend::on_device(nullptr));
  Kernel here = *static_cast<const Kernel*>(kernel);
  auto* const bytes = reinterpret_cast<std::byte*>(&here);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= sizeof(Kernel); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    if (word <= first || word - first >= kAddresses) continue;
    word -= first;
    std::memcpy(bytes + at, &word, sizeof word);
  }
  return here;
}

template <typename Kernel>
constexpr bool is_of_elements = requires(const Kernel& kernel) {
  kernel(std::int64_t{});
};

template <typename Kernel>
const char* queue(const void* kernel, std::int64_t count, std::int64_t elements, void* stream) {
  testing::count(typeid(Kernel).name());
  const bool as_blocks = by_blocks;
  static_cast<pretend::Stream*>(stream)->add(
      [here = with_host_addresses<Kernel>(kernel), count, elements, as_blocks] {
        if constexpr (is_of_elements<Kernel>)
          for (std::int64_t i = 0; i < count; ++i) here(i);
        else
          run_rows(here, count, elements, as_blocks);
      });
  return nullptr;
}

template <typename... Kernels>
void add(kernels::KernelList<Kernels...>) {
  (entries.insert({typeid(Kernels).name(), {queue<Kernels>, sizeof(Kernels)}}), ...);
}

template <template <typename, std::size_t, typename, typename> typename Kernel, typename F, std::size_t N>
const char* queue_formula(const void* arguments, std::int64_t count, std::int64_t elements, void* stream) {
  using Inputs = std::make_index_sequence<N>;
  switch (static_cast<const detail::FormulaArguments*>(arguments)->type) {
    case detail::StoredAs::float32:
      return queue<Kernel<F, N, float, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::float64:
      return queue<Kernel<F, N, double, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::bfloat16:
      return queue<Kernel<F, N, kernels::BFloat16, Inputs>>(arguments, count, elements, stream);
    case detail::StoredAs::float16:
      return queue<Kernel<F, N, kernels::Half, Inputs>>(arguments, count, elements, stream);
  }
  return "a formula of elements of an unknown type";
}

template <typename F, std::size_t N>
void add_formula(detail::DeviceFormula<F, N>) {
  const std::string name = typeid(detail::DeviceFormula<F, N>).name();
  constexpr std::size_t kSize = sizeof(detail::FormulaArguments);
  entries.insert({name + ":value", {queue_formula<detail::ValueOfElement, F, N>, kSize}});
  entries.insert({name + ":gradients", {queue_formula<detail::GradientsOfElement, F, N>, kSize}});
}

template <typename... Formulas>
void add_formulas(kernels::KernelList<Formulas...>) {
  (add_formula(Formulas{}), ...);
}

Launch find(const char* kernel, std::size_t* size) {
  const auto found = entries.find(kernel);
  if (found == entries.end()) return nullptr;
  *size = found->second.size;
  return found->second.function;
}

constexpr KernelLibrary kLibrary{"the stand-in for a library of kernels", find};

}  // namespace

KernelStandIn::KernelStandIn() {
  if (entries.empty()) {
    detail::for_each_kernel_list([](auto list) { add(list); });
    detail::for_each_formula_list([](auto list) { add_formulas(list); });
  }
  counts.clear();
  pretend_device();  // registers it
  RIESZ_CHECK(set_kernel_library_for(at::DeviceType::PrivateUse1, &kLibrary) == nullptr,
              "KernelStandIn: there is one already");
}

KernelStandIn::~KernelStandIn() { set_kernel_library_for(at::DeviceType::PrivateUse1, nullptr); }

RowsByBlocks::RowsByBlocks() { by_blocks = true; }
RowsByBlocks::~RowsByBlocks() { by_blocks = false; }

std::int64_t KernelStandIn::queued(const std::string& text) {
  const std::lock_guard lock(counts_mutex);
  std::int64_t all = 0;
  for (const auto& [name, number] : counts)
    if (name.find(text) != std::string::npos) all += number;
  return all;
}

std::int64_t KernelStandIn::kernels() { return static_cast<std::int64_t>(entries.size()); }

}  // namespace riesz::testing
