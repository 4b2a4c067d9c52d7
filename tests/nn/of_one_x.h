// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/nn/contraction/contraction.h"

namespace riesz::testing {

enum class Handles { one, each };  // of x: one and its copies for all contractions, or each its own

/// Contractions of one x, with their other operands: all leaves.
struct OfOneX {
  Vector x;
  std::vector<Contraction> forms;
  std::vector<Vector> ws, ybars;

  std::vector<Vector> values(Handles handles) const;
};

inline Partition all_workers() { return Partition::world(); }

/// A random element of X that requires a gradient.
Vector random_leaf(const Space& X, std::uint64_t seed);

OfOneX of_one_x(const Space& X, const std::vector<std::string>& specs, const std::vector<Space>& Ws,
                const std::vector<Space>& Ys, const ContractionOptions& options = {});

/// Three that read x as it is, Replicated: w and y by the new width.
OfOneX column_parallel();
/// Three that gather x, of 3 rows of 8 on each worker; w and y by the new width.
OfOneX sequence_parallel(const ContractionOptions& options = {});

/// The pull-back of all these at once, added to .grad of the leaves.
void pull_back(const std::vector<Vector>& ys, const std::vector<Vector>& ybars, bool again = false);

/// The gradients of x, and then of the ws, which are let go.
std::vector<at::Tensor> taken_gradients(const OfOneX& all);

struct Outcome {
  std::vector<at::Tensor> values, gradients;
  Traffic forward, backward;
};

/// Values and gradients in a chain of their own.
Outcome run(const OfOneX& all, Handles handles);

void expect_close(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                  double tolerance = 1e-12);
/// The same values, bit for bit, and gradients to 1e-12.
void expect_alike(const Outcome& a, const Outcome& b);

}  // namespace riesz::testing
