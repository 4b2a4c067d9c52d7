// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/device_library.h"
#include "riesz/comm/error.h"
#include "riesz/comm/nccl/functions.h"
#include "riesz/comm/nccl/transport.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"

namespace riesz {
namespace {

/// This rank's number among the ranks of its host.
int number_on_this_host() {
  const std::vector<int>& hosts = Communicator::world().hosts();
  const auto host_of = [&](int rank) { return hosts.empty() ? 0 : hosts[static_cast<std::size_t>(rank)]; };
  int number = 0;
  for (int rank = 0; rank < Runtime::rank(); ++rank) number += host_of(rank) == host_of(Runtime::rank());
  return number;
}

}  // namespace

at::Device device_of_this_rank(at::DeviceType type) {
  if (type == at::kCPU || Simulation::running()) return at::kCPU;
  const std::string name = c10::DeviceTypeName(type, true);
  load_device_library(type);
  RIESZ_CHECK(c10::impl::hasDeviceGuardImpl(type), "device ", name,
              ": this program is linked with no library of LibTorch for it; take device = \"cpu\"");
  const c10::impl::VirtualGuardImpl guard(type);
  const int seen = guard.deviceCount();
  RIESZ_CHECK(seen > 0, "device ", name,
              ": LibTorch sees none on this host; look at its driver and at what hides devices "
              "(CUDA_VISIBLE_DEVICES), or take device = \"cpu\"");
  const at::Device device(type, static_cast<at::DeviceIndex>(number_on_this_host() % seen));
  check_kernels_for(device);
  guard.setDevice(device);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  allow_tf32(false);
  if (const nccl::Functions* functions = nccl::functions_for(type);
      functions != nullptr && Runtime::size() > 1 && !NcclTransport::is_made(*functions, device))
    Communicator::world().set_device_transport(
        std::make_unique<NcclTransport>(*functions, device, NcclSettings::of_environment()));
  return device;
}

void allow_tf32(bool allowed) {
  at::globalContext().setAllowTF32CuBLAS(allowed);
  at::globalContext().setAllowTF32CuDNN(allowed);
}

}  // namespace riesz
