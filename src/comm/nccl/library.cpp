// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// NCCL itself, in libriesz_cuda.so: all else of the transport knows NCCL by functions.h alone.
#include <c10/util/Exception.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstring>

#include "riesz/comm/nccl/functions.h"

namespace riesz::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId) && NCCL_UNIQUE_ID_BYTES == UniqueId::kBytes);
static_assert(int{ncclSuccess} == int(Result::success) &&
              int{ncclUnhandledCudaError} == int(Result::unhandled_cuda_error) &&
              int{ncclSystemError} == int(Result::system_error) &&
              int{ncclInternalError} == int(Result::internal_error) &&
              int{ncclInvalidArgument} == int(Result::invalid_argument) &&
              int{ncclInvalidUsage} == int(Result::invalid_usage) &&
              int{ncclRemoteError} == int(Result::remote_error) &&
              int{ncclInProgress} == int(Result::in_progress));
static_assert(int{ncclInt8} == int(Type::int8) && int{ncclUint8} == int(Type::uint8) &&
              int{ncclInt32} == int(Type::int32) && int{ncclUint32} == int(Type::uint32) &&
              int{ncclInt64} == int(Type::int64) && int{ncclUint64} == int(Type::uint64) &&
              int{ncclFloat16} == int(Type::float16) && int{ncclFloat32} == int(Type::float32) &&
              int{ncclFloat64} == int(Type::float64) && int{ncclBfloat16} == int(Type::bfloat16));
static_assert(int{ncclSum} == int(Reduction::sum));

Result of(ncclResult_t result) { return static_cast<Result>(result); }
ncclComm_t of(Comm comm) { return reinterpret_cast<ncclComm_t>(comm); }
cudaStream_t of(Stream stream) { return static_cast<cudaStream_t>(stream); }
ncclDataType_t of(Type type) { return static_cast<ncclDataType_t>(type); }
ncclRedOp_t of(Reduction reduction) { return static_cast<ncclRedOp_t>(reduction); }

Result get_unique_id(UniqueId* id) {
  ncclUniqueId made;
  const ncclResult_t result = ncclGetUniqueId(&made);
  if (result == ncclSuccess) std::memcpy(id, &made, sizeof made);
  return of(result);
}

Result comm_init_rank(Comm* comm, int ranks, UniqueId id, int rank, int blocking) {
  ncclUniqueId given;
  std::memcpy(&given, &id, sizeof given);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking;
  ncclComm_t made = nullptr;
  const ncclResult_t result = ncclCommInitRankConfig(&made, ranks, given, rank, &config);
  *comm = reinterpret_cast<Comm>(made);
  return of(result);
}

Result comm_get_async_error(Comm comm, Result* error) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t result = ncclCommGetAsyncError(of(comm), &state);
  *error = of(state);
  return of(result);
}

std::string identity(at::Device device) {
  std::array<char, 32> address{};
  const cudaError_t result =
      cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device.index());
  TORCH_CHECK(result == cudaSuccess, "the address of ", device, ": ", cudaGetErrorString(result));
  return address.data();
}

constexpr Functions kNccl{
    "NCCL",
    [](int* version) { return of(ncclGetVersion(version)); },
    get_unique_id,
    comm_init_rank,
    comm_get_async_error,
    [](Comm comm) { return of(ncclCommFinalize(of(comm))); },
    [](Comm comm) { return of(ncclCommDestroy(of(comm))); },
    [](Comm comm) { return of(ncclCommAbort(of(comm))); },
    [](Comm comm) { return ncclGetLastError(of(comm)); },
    [](Result result) { return ncclGetErrorString(static_cast<ncclResult_t>(result)); },
    [] { return of(ncclGroupStart()); },
    [] { return of(ncclGroupEnd()); },
    [](const void* from, std::size_t count, Type type, int peer, Comm comm, Stream stream) {
      return of(ncclSend(from, count, of(type), peer, of(comm), of(stream)));
    },
    [](void* to, std::size_t count, Type type, int peer, Comm comm, Stream stream) {
      return of(ncclRecv(to, count, of(type), peer, of(comm), of(stream)));
    },
    [](const void* from, void* to, std::size_t count, Type type, Reduction reduction, Comm comm,
       Stream stream) {
      return of(ncclAllReduce(from, to, count, of(type), of(reduction), of(comm), of(stream)));
    },
    [](const void* from, void* to, std::size_t count, Type type, Comm comm, Stream stream) {
      return of(ncclAllGather(from, to, count, of(type), of(comm), of(stream)));
    },
    [](const void* from, void* to, std::size_t count, Type type, Reduction reduction, Comm comm,
       Stream stream) {
      return of(ncclReduceScatter(from, to, count, of(type), of(reduction), of(comm), of(stream)));
    },
    identity,
};

}  // namespace
}  // namespace riesz::nccl

// Of cuda/interface.h, in C.
#define RIESZ_CUDA_EXPORT extern "C" __attribute__((visibility("default")))
RIESZ_CUDA_EXPORT int riesz_cuda_nccl_compiled() { return NCCL_VERSION_CODE; }
RIESZ_CUDA_EXPORT int riesz_cuda_nccl_loaded() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}
RIESZ_CUDA_EXPORT const void* riesz_cuda_nccl_functions() { return &riesz::nccl::kNccl; }
