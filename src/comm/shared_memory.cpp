// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

constexpr const char* kName = "riesz";
constexpr std::size_t kNonce = sizeof(std::uint64_t);

std::uint64_t draw_nonce() {
  std::random_device draw;
  return (std::uint64_t{draw()} << 32) | draw();
}

/// Is it a memory that this library made, of that size? What else has that number there is not even opened:
/// to open a device may have effects.
bool is_ours(const std::string& path, std::size_t bytes) {
  char name[64];
  const ssize_t length = readlink(path.c_str(), name, sizeof name);
  struct stat status {};
  return length > 0 &&
         std::string_view(name, static_cast<std::size_t>(length))
             .starts_with(concat("/memfd:", kName, " ")) &&
         stat(path.c_str(), &status) == 0 && status.st_size == static_cast<off_t>(bytes);
}

/// Mapped, with its pages at hand so that the first use is as fast as the next; or nullptr.
std::byte* mapped(int descriptor, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

/// 0, or why there is not so much room. A signal undoes what is under way, so it is asked for in pieces that
/// come to an end between two signals, and a piece that does not is asked for again.
int take_room(int descriptor, off_t bytes) {
  constexpr off_t kPiece = off_t{1} << 20;
  for (off_t at = 0; at < bytes;) {
    const int refused = posix_fallocate(descriptor, at, std::min(kPiece, bytes - at));
    if (refused == EINTR) continue;
    if (refused != 0) return refused;
    at += kPiece;
  }
  return 0;
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  const std::size_t all = bytes + kNonce;
  const int descriptor = memfd_create(kName, MFD_CLOEXEC);
  // Room is taken now: later there would be none to ask, only a bus error.
  const int refused = descriptor < 0 ? errno : take_room(descriptor, static_cast<off_t>(all));
  std::byte* data = refused == 0 ? mapped(descriptor, all) : nullptr;
  if (data != nullptr) {
    const std::uint64_t nonce = draw_nonce();
    std::memcpy(data + bytes, &nonce, kNonce);
    return std::unique_ptr<SharedMemory>(new SharedMemory(descriptor, data, bytes));
  }
  const int why = refused == 0 ? errno : refused;
  if (descriptor >= 0) ::close(descriptor);
  throw_error(concat("cannot make ", bytes, " bytes of memory to share: ", std::strerror(why),
                     "; with RIESZ_TRANSPORT=mpi none is shared"));
}

std::unique_ptr<SharedMemory> SharedMemory::open(const Address& address) {
  const std::string path = concat("/proc/", address.process, "/fd/", address.descriptor);
  const auto bytes = static_cast<std::size_t>(address.bytes);
  if (!is_ours(path, bytes + kNonce)) return nullptr;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  std::byte* data = mapped(descriptor, bytes + kNonce);
  ::close(descriptor);
  if (data == nullptr) return nullptr;
  std::unique_ptr<SharedMemory> memory(new SharedMemory(-1, data, bytes));
  return memory->nonce() == address.nonce ? std::move(memory) : nullptr;
}

SharedMemory::~SharedMemory() {
  munmap(data_, bytes_ + kNonce);
  if (descriptor_ >= 0) ::close(descriptor_);
}

SharedMemory::Address SharedMemory::address() const {
  return {getpid(), descriptor_, static_cast<std::int64_t>(bytes_), nonce()};
}

void SharedMemory::make_read_only() const {
  RIESZ_CHECK(mprotect(data_, bytes_ + kNonce, PROT_READ) == 0, "cannot make ", bytes_,
              " bytes of shared memory read-only: ", std::strerror(errno));
}

std::uint64_t SharedMemory::nonce() const {
  std::uint64_t nonce = 0;
  std::memcpy(&nonce, data_ + bytes_, kNonce);
  return nonce;
}

}  // namespace riesz
