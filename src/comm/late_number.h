// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace riesz {

/// Numbers that a device may still be computing, such as the losses of micro-batches. They are read like a
/// std::vector<double>; the first read waits for the device. Numbers of the CPU are there at once. Copies
/// share the values. In a `Simulation` each number is `instead`.
class LateNumbers {
 public:
  LateNumbers() : LateNumbers(std::vector<double>()) {}
  LateNumbers(std::vector<double> values);
  /// Of a tensor of any real type; its elements in row-major order.
  explicit LateNumbers(const at::Tensor& x, double instead = 0);

  /// Waits, and returns the values.
  const std::vector<double>& wait() const;
  operator const std::vector<double>&() const { return wait(); }
  std::vector<double>::const_iterator begin() const { return wait().begin(); }
  std::vector<double>::const_iterator end() const { return wait().end(); }
  double operator[](std::size_t i) const { return wait()[i]; }
  std::size_t size() const;

  /// The numbers where they are computed, flat and in fp64; undefined for numbers of the CPU.
  const at::Tensor& there() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// One such number. It converts to double, which waits.
class LateNumber {
 public:
  LateNumber(double value) : value_(value) {}
  /// Of a one-element tensor.
  explicit LateNumber(const at::Tensor& x, double instead = 0);

  operator double() const { return late_ ? (*late_)[0] : value_; }

 private:
  double value_ = 0;
  std::shared_ptr<const LateNumbers> late_;
};

}  // namespace riesz
