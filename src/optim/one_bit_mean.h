// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// keep·vector + scale·more, which is computed where it is read. `more` may be undefined.
struct OneBitTerm {
  at::Tensor vector;
  double keep = 1;
  at::Tensor more = {};
  double scale = 0;
};

/// The mean of some flat vectors over the workers of a fibre, at one bit an element each way, with error
/// feedback (Tang et al., 2102.02888). For each vector x of n elements, each worker sets x ← x + e and s =
/// ‖x‖/√n, and keeps e = x − s·sign x. It sends the signs of chunk j and s to worker j. Worker j computes y =
/// mean of s·sign + ē and s̄ = ‖y‖/√(its size), and keeps ē = y − s̄·sign y. It sends the signs and s̄ to
/// all, so all hold the same bits. The chunks are a vector's bytes of 8 signs, balanced over the workers.
/// Each vector has its own scales and chunks. So the state of replicas on other axes depends on nothing else
/// that their workers hold.
class OneBitMean {
 public:
  /// For vectors of these types and sizes, the same on all workers of the fibre. The fibre goes
  /// through this worker.
  OneBitMean(const Partition& fibre, const std::vector<at::TensorOptions>& types,
             const std::vector<std::int64_t>& sizes);

  /// Replaces the vectors by their mean, nearly. Collective over the fibre: one AllToAll and one AllGather.
  /// In each of these, each of p workers sends about (p − 1)/p·Σn/8 bytes, and 8·(p − 1) for the scales of a
  /// vector. On a fibre of one worker nothing changes.
  ///
  /// `finite`: a flag without dims, on a device; where it is false, the errors stay as they were.
  void operator()(const std::vector<at::Tensor>& vectors, const at::Tensor& finite = {});
  /// The same of terms, whose mean goes to their vectors. It takes three passes over each beside the
  /// messages: the term with its error, its signs and its scale in one; the new error; the mean.
  void operator()(const std::vector<OneBitTerm>& terms, const at::Tensor& finite = {});

  /// e and ē by vector: each worker's own.
  const std::vector<at::Tensor>& worker_errors() const { return worker_errors_; }
  const std::vector<at::Tensor>& server_errors() const { return server_errors_; }

 private:
  /// Signs and scale of a vector with its error, which is replaced.
  struct Compressed {
    at::Tensor bytes;
    at::Tensor scale;  ///< one fp64 element
  };
  static Compressed compress(const OneBitTerm& x, const at::Tensor& error, const at::Tensor& finite);
  static Compressed compress_here(const OneBitTerm& x, const at::Tensor& error, const at::Tensor& finite);
  static Compressed compress_there(const OneBitTerm& x, const at::Tensor& error, const at::Tensor& finite);
  /// The bytes of vector v whose signs worker j averages; and its elements.
  Interval bytes_of(std::size_t v, int j) const;
  Interval elements_of(std::size_t v, int j) const;
  /// Bytes of a message with chunk j of each vector and their scales.
  std::int64_t message(int j) const;
  at::Tensor average(const at::Tensor& received, const at::Tensor& finite) const;

  Partition fibre_;
  std::vector<std::int64_t> sizes_;
  std::vector<at::Tensor> worker_errors_;
  std::vector<at::Tensor> server_errors_;
};

}  // namespace riesz
