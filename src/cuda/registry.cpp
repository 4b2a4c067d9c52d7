// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/cuda/registry.h"

#include <unordered_map>

#include "riesz/cuda/interface.h"

namespace riesz::cuda {
namespace {

struct Entry {
  KernelLaunch function;
  std::size_t size;
};

/// Made at the first kernel, whatever source that is in.
std::unordered_map<std::string, Entry>& entries() {
  static auto* const all = new std::unordered_map<std::string, Entry>();
  return *all;
}

}  // namespace

void registry_add(const std::string& name, KernelLaunch function, std::size_t size) {
  entries().insert({name, {function, size}});
}

}  // namespace riesz::cuda

riesz::cuda::KernelLaunch riesz_cuda_find(const char* kernel, std::size_t* size) {
  const auto& all = riesz::cuda::entries();
  const auto found = all.find(kernel);
  if (found == all.end()) return nullptr;
  *size = found->second.size;
  return found->second.function;
}

std::size_t riesz_cuda_kernels() { return riesz::cuda::entries().size(); }
