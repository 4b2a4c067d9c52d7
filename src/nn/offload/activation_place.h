// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace riesz {

/// Memory of activations that was put in an `ActivationPlace`. Its room there is free again when this is
/// destroyed. Each call may throw what went wrong with the place since the last one.
class PlacedMemory {
 public:
  virtual ~PlacedMemory() = default;

  /// Gives up the memory from which it is written. Waits until it is written.
  virtual void let_go() = 0;
  /// Begins to read it, unless that memory is still here, or it is being read already.
  virtual void expect() = 0;
  /// Its bytes, in memory of their own. Waits until they are read. At most once; then its room is not needed.
  virtual at::Storage bring() = 0;
};

/// The bytes that have been written to a place and read from it.
struct MovedBytes {
  std::int64_t written = 0;
  std::int64_t read = 0;

  bool operator==(const MovedBytes&) const = default;
};

/// A place where activations lie between forward and backward, other than the memory of their device:
/// `activations_on_disk`. One thread at a time uses it.
class ActivationPlace {
 public:
  virtual ~ActivationPlace() = default;

  /// Copies the bytes, and begins to write the copy. @throws Error if there is no room, or where the place
  /// takes nothing from their device.
  virtual std::unique_ptr<PlacedMemory> put(const at::Storage& memory) = 0;
  virtual MovedBytes moved() const = 0;
  /// The bytes of the room that it has taken so far.
  virtual std::int64_t bytes() const = 0;
  /// Such as `the disk of "/scratch" (io_uring, past the page cache)`.
  virtual std::string describe() const = 0;
};

}  // namespace riesz
