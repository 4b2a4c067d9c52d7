// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/operation.h"
#include "riesz/partition/vector.h"

namespace riesz {

struct Rounds;

/// A primitive: one linear move of a vector from X to Y along some axes of the grid. Its author writes the
/// pair of spaces, `apply`, `adjoint`, `traffic` and `sends`. Gradients, composition, counting and checks
/// follow from `Operator`. No primitive writes a backward.
class Primitive {
 public:
  /// `axes`: positions on the domain's grid (for a move to a larger partition: on the larger one's).
  Primitive(std::string name, Space domain, Space range, std::vector<int> axes)
      : Primitive(std::move(name), std::move(domain), std::move(range), std::move(axes), "") {}
  /// `parameters` distinguish it from others of its name between the same spaces. They may differ from worker
  /// to worker: it is counted under its name alone, and the ends of its messages do not compare them.
  Primitive(std::string name, Space domain, Space range, std::vector<int> axes,
            const std::string& parameters);
  virtual ~Primitive() = default;

  const std::string& name() const { return operation_.name; }
  /// The operation under which it communicates.
  const Operation& operation() const { return operation_; }
  const Space& domain() const { return domain_; }
  const Space& range() const { return range_; }
  const std::vector<int>& axes() const { return axes_; }

  /// y = A x on this worker's tensors: x has domain().local_shape(), y has range().local_shape(). Pure: x is
  /// `resolved` (src/comm/resolved.h), and not written; y may alias it. Called by all workers of both
  /// partitions.
  virtual at::Tensor apply(const at::Tensor& x) const = 0;

  /// The rounds of this worker, made once and kept: what it sends, receives and combines. A primitive with
  /// rounds makes progress while the program computes, and its messages can be merged with others'. By
  /// default nullptr: there is only `apply`.
  virtual const Rounds* rounds() const { return nullptr; }

  /// The primitive Y* → X*. @post adjoint()->adjoint() is this one again.
  virtual std::shared_ptr<const Primitive> adjoint() const = 0;

  /// The traffic of one call from the worker of `rank` of the domain's partition to others, in elements and
  /// messages; bytes stay 0. The function itself sends nothing.
  virtual Traffic traffic(int rank) const = 0;

  /// True if it sends anything between any workers.
  virtual bool sends() const = 0;

 private:
  Space domain_;
  Space range_;
  std::vector<int> axes_;
  Operation operation_;
};

using Step = std::shared_ptr<const Primitive>;

/// Such as "AllGather over tp: Sharded(1) -> Copied", or "Broadcast: (dp=2) -> (dp=2, tp=4)". Two steps of
/// one text between equal spaces count as the same, so the text has the parameters of a primitive.
std::string to_string(const Primitive& primitive);

}  // namespace riesz
