// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device_library.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <sstream>
#include <string>
#include <string_view>
#include <typeinfo>

#include "riesz/comm/error.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/kernels/digest.h"
#include "riesz/comm/nccl/functions.h"

namespace riesz {
namespace {

constexpr const char* kOrCpu = ", or take device = \"cpu\"";
constexpr const char* kPage = " (docs/internals/devices.md)";

void* opened(const char* name, int flags) { return dlopen(name, RTLD_NOW | flags); }

std::string reason() {
  const char* const text = dlerror();
  return text == nullptr ? "no reason is given" : text;
}

template <typename Function>
Function symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  RIESZ_CHECK(found != nullptr, "libriesz_cuda.so has no ", name,
              "; it is of another build: build both together");
  return reinterpret_cast<Function>(found);
}

/// NCCL_VERSION_CODE, as people write it.
std::string version_text(int code) { return concat(code / 10000, ".", code / 100 % 100, ".", code % 100); }

detail::CudaLibrary opened_cuda_library(const char* asks, const char* otherwise) {
  void* const library = opened("libriesz_cuda.so", RTLD_LOCAL);
  RIESZ_CHECK(library != nullptr, asks, ": Riesz's library for it cannot be loaded: ", reason(),
              "; build Riesz by cmake --preset cuda", otherwise, kPage);
  const std::string_view version = symbol<const char* (*)()>(library, "riesz_cuda_version")();
  RIESZ_CHECK(version == RIESZ_VERSION, "libriesz_cuda.so is of Riesz ", version, ", this program of ",
              RIESZ_VERSION, "; build both together");
  const std::string_view digest = symbol<const char* (*)()>(library, "riesz_cuda_digest")();
  RIESZ_CHECK(digest == detail::shared_digest, "libriesz_cuda.so was built from other headers (digest ",
              digest, ") than this program (", detail::shared_digest, "); build both together");
  const detail::CudaLibrary all{symbol<void (*)(const char*)>(library, "riesz_cuda_range_push"),
                                symbol<void (*)()>(library, "riesz_cuda_range_pop"),
                                symbol<std::size_t (*)()>(library, "riesz_cuda_kernels"),
                                symbol<int (*)()>(library, "riesz_cuda_nccl_compiled"),
                                symbol<int (*)()>(library, "riesz_cuda_nccl_loaded"),
                                symbol<const char* (*)()>(library, "riesz_cuda_architectures"),
                                symbol<const char* (*)(int, int*)>(library, "riesz_cuda_capability")};
  detail::check_nccl_version(all.nccl_compiled(), all.nccl_loaded());
  static const KernelLibrary kernels{
      "libriesz_cuda.so", symbol<Launch (*)(const char*, std::size_t*)>(library, "riesz_cuda_find")};
  set_kernel_library_for(at::kCUDA, &kernels);
  nccl::set_functions_for(at::kCUDA, static_cast<const nccl::Functions*>(
                                         symbol<const void* (*)()>(library, "riesz_cuda_nccl_functions")()));
  return all;
}

/// LibTorch answers by a substitute that has no GPU where its library came after it was first asked.
void check_hooks() {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  RIESZ_CHECK(typeid(hooks) != typeid(at::CUDAHooksInterface),
              "device cuda: LibTorch was asked for a GPU before its library for it was loaded; call "
              "device_of_this_rank(at::kCUDA) before anything else that asks for one");
}

void load_cuda() {
  RIESZ_CHECK(opened("libcuda.so.1", RTLD_LOCAL) != nullptr,
              "device cuda: this host has no driver of NVIDIA: ", reason(),
              "; install it, or in a container let it in (apptainer --nv, docker --gpus all)", kOrCpu);
  if (!c10::impl::hasDeviceGuardImpl(at::kCUDA)) {
    RIESZ_CHECK(opened("libtorch_cuda.so", RTLD_GLOBAL) != nullptr,
                "device cuda: LibTorch's library for it cannot be loaded: ", reason(),
                "; scripts/setup_cuda.sh run fetches what it needs", kOrCpu, kPage);
  }
  check_hooks();
  detail::load_cuda_library("device cuda", kOrCpu);
}

}  // namespace

void load_device_library(at::DeviceType type) {
  if (type != at::kCUDA) return;
  [[maybe_unused]] static const bool once = (load_cuda(), true);
}

void check_kernels_for(at::Device device) {
  if (device.type() != at::kCUDA) return;
  const detail::CudaLibrary& library = detail::load_cuda_library("device cuda", kOrCpu);
  int capability = 0;
  const char* const wrong = library.capability(device.index(), &capability);
  RIESZ_CHECK(wrong == nullptr, "device ", device,
              ": the CUDA runtime of libriesz_cuda.so cannot use it: ", wrong,
              "; install a driver for CUDA 13.0 or newer", kOrCpu);
  detail::check_architectures(device, capability, library.architectures());
}

const detail::CudaLibrary& detail::load_cuda_library(const char* asks, const char* otherwise) {
  static const CudaLibrary library = opened_cuda_library(asks, otherwise);
  return library;
}

void detail::check_nccl_version(int compiled, int loaded) {
  RIESZ_CHECK(loaded > 0, "NCCL does not say its version, where Riesz was compiled with ",
              version_text(compiled), "; take that library (scripts/setup_cuda.sh)");
  RIESZ_CHECK(loaded / 100 == compiled / 100, "NCCL ", version_text(loaded),
              " is loaded, where Riesz was compiled with ", version_text(compiled),
              "; take a library of the same major and minor version");
}

void detail::check_architectures(at::Device device, int capability, const std::string& compiled) {
  std::istringstream numbers(compiled);
  bool runs = false;
  int last = 0;
  for (int number = 0; numbers >> number; last = number)
    runs = runs || (number / 10 == capability / 10 && number <= capability);
  RIESZ_CHECK(runs || last <= capability, "device ", device, ": this GPU has compute capability ",
              capability / 10, ".", capability % 10, ", but libriesz_cuda.so has kernels for ", compiled,
              "; configure with -DRIESZ_CUDA_ARCHITECTURES=", capability, " and build again", kOrCpu);
}

}  // namespace riesz
