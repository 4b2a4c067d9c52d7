// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

namespace riesz::nccl {

// NCCL's types, with its numbers. `library.cpp` checks them against nccl.h, where that is there.

enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

enum class Type : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
};

enum class Reduction : int { sum = 0 };

struct UniqueId {
  static constexpr std::size_t kBytes = 128;
  char internal[kBytes];
};

/// A communicator of the library, and a stream as `c10::Stream::native_handle` gives it.
using Comm = struct OpaqueComm*;
using Stream = void*;

/// The functions of a library with NCCL's interface: those of NCCL itself, or of a stand-in. Each has the
/// arguments, the results and the rules of the NCCL function of its name.
struct Functions {
  const char* name;  ///< for people, such as "NCCL"

  Result (*get_version)(int* version);
  Result (*get_unique_id)(UniqueId* id);
  /// ncclCommInitRankConfig, with `blocking` of its configuration; all else is NCCL's default.
  Result (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank, int blocking);
  Result (*comm_get_async_error)(Comm comm, Result* error);
  Result (*comm_finalize)(Comm comm);
  Result (*comm_destroy)(Comm comm);
  Result (*comm_abort)(Comm comm);
  const char* (*get_last_error)(Comm comm);
  const char* (*get_error_string)(Result result);

  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void* from, std::size_t count, Type type, int peer, Comm comm, Stream stream);
  Result (*recv)(void* to, std::size_t count, Type type, int peer, Comm comm, Stream stream);
  Result (*all_reduce)(const void* from, void* to, std::size_t count, Type type, Reduction reduction,
                       Comm comm, Stream stream);
  Result (*all_gather)(const void* from, void* to, std::size_t send_count, Type type, Comm comm,
                       Stream stream);
  Result (*reduce_scatter)(const void* from, void* to, std::size_t receive_count, Type type,
                           Reduction reduction, Comm comm, Stream stream);

  /// What tells a device from all others of its host, such as its PCI address. Not NCCL's.
  std::string (*identity)(at::Device device);
};

/// The functions by which devices of a type exchange messages; nullptr: by none, and messages are staged.
const Functions* functions_for(at::DeviceType type);
/// Sets them. A library for a device calls it as it is loaded; a test sets a stand-in. They live as long as
/// the process.
void set_functions_for(at::DeviceType type, const Functions* functions);

}  // namespace riesz::nccl
