// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// Mapped, with its pages at hand so that the first use is as fast as the next; or nullptr.
std::byte* mapped(int descriptor, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  const int descriptor = memfd_create("riesz", MFD_CLOEXEC);
  // Room is taken now: later there would be none to ask, only a bus error.
  const int refused = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  std::byte* data = refused == 0 ? mapped(descriptor, bytes) : nullptr;
  if (data != nullptr) return std::unique_ptr<SharedMemory>(new SharedMemory(descriptor, data, bytes));
  const int why = refused == 0 ? errno : refused;
  if (descriptor >= 0) ::close(descriptor);
  throw_error(concat("cannot make ", bytes, " bytes of memory to share: ", std::strerror(why),
                     "; with RIESZ_TRANSPORT=mpi none is shared"));
}

std::unique_ptr<SharedMemory> SharedMemory::open(const Address& address) {
  const std::string path = concat("/proc/", address.process, "/fd/", address.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  const auto bytes = static_cast<std::size_t>(address.bytes);
  std::byte* data = mapped(descriptor, bytes);
  ::close(descriptor);
  return data == nullptr ? nullptr : std::unique_ptr<SharedMemory>(new SharedMemory(-1, data, bytes));
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

SharedMemory::Address SharedMemory::address() const {
  return {getpid(), descriptor_, static_cast<std::int64_t>(bytes_)};
}

}  // namespace riesz
