// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/huge_pages.h"

#include <sys/mman.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace riesz {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kLeast = std::size_t{64} << 20;
constexpr int kCollapse = 25;  // MADV_COLLAPSE, which headers before glibc 2.37 lack

/// Reads "always [madvise] never", of which the one in brackets holds.
bool system_allows() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string setting{std::istreambuf_iterator<char>(file), {}};
  return !setting.empty() && setting.find("[never]") == std::string::npos;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

HugePages::HugePages(const std::vector<at::Tensor>& tensors) {
  std::set<std::uintptr_t> pages;
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_cpu() || tensor.numel() == 0 || !tensor.is_non_overlapping_and_dense()) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
    bytes += tensor.nbytes();
    for (std::uintptr_t page = begin / kPage; page <= (begin + tensor.nbytes() - 1) / kPage; ++page)
      pages.insert(page);
  }
  if (bytes >= kLeast && system_allows()) pages_.assign(pages.rbegin(), pages.rend());
}

void HugePages::move(double seconds) {
  allowed_ += seconds;
  while (!pages_.empty() && cost_ <= allowed_) {
    const double begin = seconds_now();
    madvise(reinterpret_cast<void*>(pages_.back() * kPage), kPage, kCollapse);  // or it stays as it is
    pages_.pop_back();
    cost_ = seconds_now() - begin;
    allowed_ -= cost_;
  }
}

}  // namespace riesz
