// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared/memory.h"

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

/// Where the late bytes begin.
std::size_t behind(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + kNonce + page - 1) / page * page;
}

std::size_t size_of(std::size_t bytes, std::size_t reserved) {
  return reserved > 0 ? behind(bytes) + reserved : bytes + kNonce;
}

/// Mapped, or nullptr. `populate`: with its pages at hand so that the first use is as fast as the next.
std::byte* mapped(int descriptor, std::size_t begin, std::size_t bytes, int populate) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | populate, descriptor,
                    static_cast<off_t>(begin));
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

/// 0, or why there is not so much room. A signal undoes what is under way, so it is asked for in pieces that
/// come to an end between two signals, and a piece that does not is asked for again.
int take_room(int descriptor, std::size_t begin, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t at = 0; at < bytes;) {
    const int refused = posix_fallocate(descriptor, static_cast<off_t>(begin + at),
                                        static_cast<off_t>(std::min(kPiece, bytes - at)));
    if (refused == EINTR) continue;
    if (refused != 0) return refused;
    at += kPiece;
  }
  return 0;
}

[[noreturn]] void throw_no_memory(std::size_t bytes, const std::string& purpose, int why) {
  throw_error(concat("cannot make ", bytes, " bytes of memory to share", purpose, ": ", std::strerror(why),
                     "; with RIESZ_TRANSPORT=mpi none is shared"));
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::make(std::size_t bytes, std::size_t reserved) {
  const int descriptor = memfd_create(kName, MFD_CLOEXEC);
  // Room is taken now: later there would be none to ask, only a bus error.
  int refused = descriptor < 0 ? errno : take_room(descriptor, 0, bytes + kNonce);
  if (refused == 0 && ftruncate(descriptor, static_cast<off_t>(size_of(bytes, reserved))) != 0)
    refused = errno;
  if (refused == 0) {
    std::unique_ptr<SharedMemory> memory(new SharedMemory(descriptor, bytes));
    if (!memory->map(descriptor, {0, reserved})) throw_no_memory(bytes + reserved, "", errno);
    const std::uint64_t nonce = draw_nonce();
    std::memcpy(memory->data_ + bytes, &nonce, kNonce);
    return memory;
  }
  if (descriptor >= 0) ::close(descriptor);
  throw_no_memory(bytes + reserved, "", refused);
}

std::unique_ptr<SharedMemory> SharedMemory::open(const Address& address, const ReservedPart& reserved) {
  const std::string path = concat("/proc/", address.process, "/fd/", address.descriptor);
  const auto bytes = static_cast<std::size_t>(address.bytes);
  if (!is_ours(path, size_of(bytes, static_cast<std::size_t>(address.reserved)))) return nullptr;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<SharedMemory> memory(new SharedMemory(-1, bytes));
  const bool at_hand = memory->map(descriptor, reserved);
  ::close(descriptor);
  return at_hand && memory->nonce() == address.nonce ? std::move(memory) : nullptr;
}

bool SharedMemory::map(int descriptor, const ReservedPart& reserved) {
  data_ = mapped(descriptor, 0, bytes_ + kNonce, MAP_POPULATE);
  if (data_ == nullptr || reserved.bytes == 0) return data_ != nullptr;
  reserved_bytes_ = reserved.bytes;
  reserved_ = mapped(descriptor, behind(bytes_) + reserved.begin, reserved.bytes, 0);
  return reserved_ != nullptr;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_ + kNonce);
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedMemory::commit(const ReservedPart& part, const std::function<std::string()>& purpose) const {
  const int refused = take_room(descriptor_, behind(bytes_) + part.begin, part.bytes);
  if (refused != 0) throw_no_memory(part.bytes, purpose(), refused);
}

SharedMemory::Address SharedMemory::address() const {
  return {getpid(), descriptor_, static_cast<std::int64_t>(bytes_),
          static_cast<std::int64_t>(reserved_bytes_), nonce()};
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
