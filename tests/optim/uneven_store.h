// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz::testing {

/// A store whose workers along axis "dp" share out what each of them holds as one flat vector of all
/// parameters, unevenly: the first of several gets nothing, the second a third, and so on. The parameters are
/// Replicated on dp.
class UnevenStore : public Store {
 public:
  explicit UnevenStore(std::vector<Parameter> parameters);

  std::vector<Share> shares() override;
  /// Nothing: a test looks at the parameters' values after `gather`.
  void spread(std::size_t) override {}
  void zero_gradients() override;
  Holds holds() const override { return Holds::parts; }
  const Partition& partition() const override { return partition_; }

  /// Brings the shares together in the parameters' values. Collective over the fibres along dp.
  void gather();

 private:
  /// Adds what backward left.
  void take_gradients();
  /// dp counts, each worker its own elements; of other axes the first that hold the same.
  bool counted(const Space& X) const;

  std::vector<Parameter> parameters_;
  Partition partition_;
  std::int64_t begin_ = 0;
  at::Tensor value_;
  at::Tensor gradient_;
};

std::shared_ptr<UnevenStore> uneven(std::vector<Parameter> parameters);

}  // namespace riesz::testing
