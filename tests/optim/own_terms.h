// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz::testing {

/// A store of whole parameters whose gradients a test writes, and says whether they are summed over the
/// workers.
class OwnTerms : public Store {
 public:
  explicit OwnTerms(std::vector<Parameter> parameters) : whole_(whole(std::move(parameters))) {}

  std::vector<Share> shares() override { return whole_->shares(); }
  void spread(std::size_t part) override { whole_->spread(part); }
  void zero_gradients() override { whole_->zero_gradients(); }
  Holds holds() const override { return Holds::whole; }
  bool reduced() const override { return summed; }
  const Partition& partition() const override { return whole_->partition(); }

  bool summed = true;

 private:
  std::shared_ptr<Store> whole_;
};

}  // namespace riesz::testing
