// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/primitive.h"

namespace riesz {

/// The box exchange, the one engine of data movement: every worker r of the range receives from each of its senders
/// s the part need ∩ own, boxes intersected dim by dim, locally; one round, uneven and empty shards as they are:
///
///     y_r = Σ x_s | box_s ∩ box_r   over s ∈ senders(r), in rank order
///
/// A move whose parcels never overlap places them; one whose parcels all cover y_r adds them.
/// Cost: Σ |box_s ∩ box_r| elements over its receivers leave worker s, one message to each that gets any.
class BoxExchange : public Primitive {
 public:
  enum class Combine { place, add };

  BoxExchange(std::string name, Space domain, Space range, std::vector<int> axes, Combine combine);

  at::Tensor apply(const at::Tensor& x) const final;
  Traffic traffic(int rank) const final;
  bool communicates() const final;

 protected:
  /// Ranks of the domain's partition that worker `rank` of the range's receives from, in rank order; and the
  /// converse. By default the fibre through `rank` on the axes.
  virtual std::vector<int> senders(int rank) const;
  virtual std::vector<int> receivers(int rank) const;

 private:
  struct Route;
  std::vector<Route> incoming() const;
  std::vector<Route> outgoing() const;
  at::Tensor place(const at::Tensor& x) const;
  at::Tensor add(const at::Tensor& x) const;

  Combine combine_;
};

}  // namespace riesz
