// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace riesz {

/// Of a memory's late bytes.
struct LatePart {
  std::size_t begin = 0;  // a multiple of the system's pages
  std::size_t bytes = 0;
};

/// Memory that processes of one host may share, zeros at first. It has no name in any file system and goes
/// with the last process that maps it, however that ends. Whoever made it says its address; others open it
/// while the maker has it. Numbers of processes mean other processes in another PID namespace, so behind its
/// bytes the memory holds a random number, and only memory with the number of the address is opened. Private
/// to this room.
///
/// Behind that may lie late bytes: they have their place, and take up memory only once the maker takes it for
/// them, part by part. Nobody touches what is not taken: that is a bus error where the memory is full.
class SharedMemory {
 public:
  /// Where another process finds it.
  struct Address {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;
    std::int64_t bytes = 0;
    std::int64_t late = 0;
    std::uint64_t nonce = 0;
  };

  /// @throws Error if the system gives none.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes, std::size_t late = 0);
  /// With so much of its late bytes. nullptr if it cannot be opened from here, or what lies there is not that
  /// memory.
  static std::unique_ptr<SharedMemory> open(const Address& address, const LatePart& late = {});

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Address address() const;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Its late bytes, all of them for the maker; nullptr: none.
  std::byte* late() const { return late_; }
  /// For the maker: from now on that part may be touched. @throws Error, which says what it is for, if there
  /// is no memory.
  void take_late(const LatePart& part, const std::string& purpose) const;
  /// A write through this mapping, not through others', ends the process from now on.
  void make_read_only() const;

 private:
  SharedMemory(int descriptor, std::size_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
  bool map(int descriptor, const LatePart& late);
  std::uint64_t nonce() const;

  int descriptor_;  // −1: another process made it
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  std::byte* late_ = nullptr;
  std::size_t late_bytes_ = 0;
};

}  // namespace riesz
