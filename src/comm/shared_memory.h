// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace riesz {

/// Memory that processes of one host may share, zeros at first. It has no name in any file system and goes
/// with the last process that maps it, however that ends. Whoever made it says its address; others open it
/// while the maker has it. Numbers of processes mean other processes in another PID namespace, so behind its
/// bytes the memory holds a random number, and only memory with the number of the address is opened. Private
/// to this room.
class SharedMemory {
 public:
  /// Where another process finds it.
  struct Address {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::int64_t bytes = 0;
    std::uint64_t nonce = 0;
  };

  /// @throws Error if the system gives none.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes);
  /// nullptr if it cannot be opened from here, or what lies there is not that memory.
  static std::unique_ptr<SharedMemory> open(const Address& address);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Address address() const;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// A write through this mapping, not through others', ends the process from now on.
  void make_read_only() const;

 private:
  SharedMemory(int descriptor, std::byte* data, std::size_t bytes)
      : descriptor_(descriptor), data_(data), bytes_(bytes) {}
  std::uint64_t nonce() const;

  int descriptor_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace riesz
