// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/nn/module.h"

namespace riesz {

/// The values of parameters that a model's stages lend each other, such as a tied token table, brought once
/// where they are used. While it lives they stay there, so nothing of them moves at a use. For a model that
/// is only evaluated, as `generate` does: gradients do not go back. Memory: the values, on who uses them.
class LentValues {
 public:
  /// Collective over the workers of all stages; moves nothing where nothing is lent.
  explicit LentValues(const Module& model);
  /// From then on they are brought at each use again.
  ~LentValues();
  LentValues(const LentValues&) = delete;
  LentValues& operator=(const LentValues&) = delete;

  /// This worker's parts.
  std::vector<at::Tensor> here() const;

 private:
  std::vector<LentParameter> lent_;
};

}  // namespace riesz
