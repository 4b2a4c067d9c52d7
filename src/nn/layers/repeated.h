// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/module.h"

namespace riesz {

/// x → each_n(…each_1(x)): as many layers of a kind, named "0", "1" …, one after another, each constructed
/// from its Part and the same arguments.
template <typename Each>
class Repeated : public Layer<Repeated<Each>> {
 public:
  template <typename... Arguments>
  Repeated(Module& owner, const std::string& name, std::int64_t count, const Arguments&... arguments)
      : Layer<Repeated<Each>>({owner, name}) {
    for (std::int64_t i = 0; i < count; ++i) each_.emplace_back(Part(*this, std::to_string(i)), arguments...);
  }

  Vector forward(Vector x) {
    for (Each& each : each_) x = each(x);
    return x;
  }

  std::string describe() const override {
    return concat(each_.size(), each_.empty() ? "" : " of " + each_.front().describe());
  }

 private:
  std::deque<Each> each_;
};

}  // namespace riesz
