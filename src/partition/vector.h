// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "riesz/partition/space.h"

namespace riesz {

/// A vector: an element of a space. It has this worker's tensor, and the space that says what the workers'
/// tensors mean together. All have one element type and one kind of device. Workers outside the partition
/// hold an empty tensor of that type and device. `local()` gives this worker's tensor; `Vector(space, local)`
/// makes a vector of one.
class Vector {
 public:
  /// @throws Error naming both unless the tensor has the space's local shape on this worker.
  Vector(Space space, at::Tensor local) : Vector(std::move(space), std::move(local), false) {}
  /// The same, as a constant if `constant` is true. All workers pass the same flag. A function of vectors is
  /// a constant if they all are, and a vector of integers always is. @throws Error if it is a constant whose
  /// tensor requires a gradient.
  Vector(Space space, at::Tensor local, bool constant);
  Vector(const Vector& other)
      : space_(other.space_), local_(other.local_), constant_(other.constant_), slot_(other.slot()) {}
  Vector(Vector&&) = default;
  Vector& operator=(const Vector& other) { return *this = Vector(other); }
  Vector& operator=(Vector&&) = default;
  ~Vector() = default;

  const Space& space() const { return space_; }
  const at::Tensor& local() const { return local_; }
  /// Is it a constant? No gradient goes back from a constant, on any worker: what is computed from constants
  /// alone is not recorded, and has no backward. Integers, frozen parameters and what `constant` gives are
  /// constants, and so is each function of constants alone. All workers know it, unlike `requires_grad` of
  /// this worker's tensor.
  bool is_constant() const { return constant_; }

  /// A slot that the readers of this vector share, such as for the gathered value; only they know its type.
  /// The vector and its copies have one slot, freed with the last of them.
  std::shared_ptr<void>& kept() const { return *slot(); }

 private:
  using Slot = std::shared_ptr<std::shared_ptr<void>>;
  const Slot& slot() const;

  Space space_;
  at::Tensor local_;
  bool constant_;
  mutable Slot slot_;  // nullptr until the vector is copied, or the slot asked for
};

/// x as a constant, such as a batch of images: no gradient goes back to it. It shares x's memory. Local, but
/// call it on all workers alike.
Vector constant(const Vector& x);

/// A hint for messages: how to bring vectors of X and Y into one space.
std::string conversion_hint(const Space& X, const Space& Y);

/// The sum and difference of the vectors meant, in any one space. @throws Error naming both unless the spaces
/// are equal, and the devices.
Vector operator+(const Vector& x, const Vector& y);
Vector operator-(const Vector& x, const Vector& y);
/// c·x, in any space.
Vector operator*(double c, const Vector& x);

/// f applied to each element; `f` maps a tensor to one of the same shape, element by element. It is a
/// function of that tensor alone.
/// @throws Error naming `what` on a Partial vector: f of a sum is not the sum of f; reduce it first.
Vector map(const std::string& what, const Vector& x, const std::function<at::Tensor(const at::Tensor&)>& f);

/// Checks that this worker's tensors are on one device. Outside of either partition nothing is compared.
/// @throws Error naming both spaces and devices.
void check_one_device(const char* what, const Vector& x, const Vector& y);

/// Checks that no axis of the space is Partial, and that no split overlaps in terms. @throws Error naming
/// `what` and the axis or the dim.
void check_not_partial(std::string_view what, const Space& space);

/// The elements of a tensor in `box`, of its own indices: a view.
at::Tensor narrow(const at::Tensor& tensor, const Box& box);

/// The vector of X whose global tensor is `global`, the same on all workers. Each worker cuts out its piece;
/// on Replicated and Copied axes it holds the whole. On a Partial axis the first worker holds it, the others
/// zero.
/// @throws Error naming both shapes unless the tensor has that of the space, whose dims all have an extent.
Vector distribute(const Space& X, const at::Tensor& global);

}  // namespace riesz
