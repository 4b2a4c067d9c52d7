// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::detail {

/// The inputs of a region, kept until it runs again: as they are, or in pieces over axes on which they are
/// Replicated.
class KeptInputs {
 public:
  KeptInputs(const std::vector<Vector>& xs, const std::vector<std::string>& pieces_over);

  /// The part that this worker keeps of each. Local: a replica is cut.
  std::vector<at::Tensor> kept(const std::vector<Vector>& xs) const;
  /// The inputs again, leaves that require gradients where they did. Collective where there are pieces.
  std::vector<Vector> given_back(const std::vector<at::Tensor>& kept) const;

 private:
  struct Input {
    Space space;
    std::optional<Space> pieces;
    bool requires_grad;
    bool constant;
  };

  std::vector<Input> inputs_;
};

}  // namespace riesz::detail
