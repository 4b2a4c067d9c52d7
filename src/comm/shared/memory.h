// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace riesz {

/// A part of the reserved bytes of a `SharedMemory`.
struct ReservedPart {
  std::size_t begin = 0;  // a multiple of the system's pages
  std::size_t bytes = 0;
};

/// Shared memory: memory that processes of one host can map, zeros at first. It has no name in a file system,
/// and is freed with the last process that maps it, however that ends. Its maker passes on the address;
/// others open it while the maker has it. A random number behind the bytes is part of the address, for
/// process numbers mean other processes in another PID namespace. Private to src/comm.
///
/// Reserved bytes may follow: they have addresses, and take up memory only once the maker commits it, part by
/// part. Nobody may touch bytes that are not committed: that is a bus error if memory is full.
class SharedMemory {
 public:
  /// Where another process finds it.
  struct Address {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::int64_t bytes = 0;
    std::int64_t reserved = 0;
    std::uint64_t nonce = 0;
  };

  /// @throws Error if the system gives none.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes, std::size_t reserved = 0);
  /// Maps that memory, with the given part of its reserved bytes. nullptr if it cannot be opened from here,
  /// or another memory lies there.
  static std::unique_ptr<SharedMemory> open(const Address& address, const ReservedPart& reserved = {});

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Address address() const;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Its reserved bytes, for the maker all of them; nullptr: none.
  std::byte* reserved() const { return reserved_; }
  /// For the maker: commits memory for that part, which may be touched from now on. @throws Error that says
  /// `purpose` if there is no memory.
  void commit(const ReservedPart& part, const std::function<std::string()>& purpose) const;
  /// From now on a write through this mapping ends the process; other mappings can still write.
  void make_read_only() const;

 private:
  SharedMemory(int descriptor, std::size_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
  bool map(int descriptor, const ReservedPart& reserved);
  std::uint64_t nonce() const;

  int descriptor_;  // −1: another process made it
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  std::byte* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace riesz
