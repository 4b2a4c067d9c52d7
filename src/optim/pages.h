// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace riesz {

/// Bytes in pages, of which a few are in memory at a time, such as those of a file. All are zero at first.
/// One thread uses it. Each call may throw what went wrong with an earlier page.
class Pages {
 public:
  virtual ~Pages() = default;

  /// Begins to read a page that is brought soon. Waits only where all memory holds pages that are still
  /// written.
  virtual void expect(std::size_t page) = 0;
  /// A page's bytes, on the CPU. They stay there until `let_go`. Waits until they are read.
  virtual at::Tensor bring(std::size_t page) = 0;
  /// Gives a page's memory back; if it was changed, begins to write it.
  virtual void let_go(std::size_t page, bool changed) = 0;

  /// The bytes where the pages lie, and those of the memory through which they pass.
  virtual std::int64_t bytes() const = 0;
  virtual std::int64_t bytes_in_memory() const = 0;
};

/// A place where optimizers keep their state, other than the memory of the values' device: `disk_place`, and
/// for values on a device `host_place`.
class StatePlace {
 public:
  virtual ~StatePlace() = default;

  /// Room for so many pages, of these sizes in bytes, none larger than `page_bytes`. `what`: for errors.
  /// @throws Error if there is none.
  virtual std::unique_ptr<Pages> room(const std::string& what, const std::vector<std::int64_t>& sizes) = 0;
  /// The most bytes of a page.
  virtual std::int64_t page_bytes() const = 0;
  /// How many pages are read ahead.
  virtual std::size_t depth() const = 0;
  /// Is it the memory of the host? Then it serves values on a device alone.
  virtual bool is_host_memory() const { return false; }
  /// Such as `the disk of "/scratch" (io_uring, without the page cache)`.
  virtual std::string describe() const = 0;
};

/// What lies in a `StatePlace`.
enum class LiesThere {
  state,              ///< what an optimizer keeps of the values
  state_and_masters,  ///< also the fp32 masters of bf16 and fp16 values
};

}  // namespace riesz
