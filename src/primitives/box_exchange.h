// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

#include "riesz/primitives/box_plan.h"
#include "riesz/primitives/primitive.h"
#include "riesz/primitives/routes.h"

namespace riesz {

/// The box exchange, the one engine of data movement: every worker of the range receives from every worker of
/// the domain the part need ∩ own, boxes intersected dim by dim, locally; one round, any two partitions,
/// uneven, empty, several or overlapping intervals as they are. `Routes` says who sends what to whom, once
/// per primitive and worker.
///
///     y_r = Σ x_s | sent_s ∩ needed_r   over s ∈ senders(r), in rank order (bf16 and fp16 in fp32)
///
/// Cost: Σ |sent_s ∩ needed_r| elements over its receivers leave worker s, in one message to each that gets
/// any.
class BoxExchange final : public Primitive {
 public:
  /// Makes the primitive of the dual spaces, of a name of its own.
  using Make = Step (*)(const Space& X, const Space& Y, const std::vector<int>& axes);

  BoxExchange(std::string name, Space domain, Space range, std::vector<int> axes, Make make_adjoint);

  at::Tensor apply(const at::Tensor& x) const override;
  std::unique_ptr<Flight> prepare() const override;
  Step adjoint() const override { return adjoint_(dual(range()), dual(domain()), axes()); }
  Traffic traffic(int rank) const override;
  /// Between any workers at all, whatever the sizes.
  bool moves() const override;

  /// What this worker does in it; made at the first call.
  const BoxPlan& plan() const;

 private:
  Routes routes_;
  Make adjoint_;
  mutable std::once_flag planned_;
  mutable BoxPlan plan_;
};

}  // namespace riesz
