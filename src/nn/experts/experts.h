// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/experts/dispatch.h"
#include "riesz/nn/experts/expert_rows.h"
#include "riesz/nn/experts/top_k_gate.h"
#include "riesz/nn/module.h"

namespace riesz {

struct ExpertsOptions {
  std::int64_t experts = 8;
  std::int64_t inner = 0;           ///< F: of an expert
  std::string activation = "silu";  ///< as `activate` names it
  bool gated = true;                ///< down(a(gate(x))·up(x)), as SwiGLU; else down(a(up(x)))
  Initial initial = Initial::normal(0.02);
  Initial initial_down = Initial::normal(0.02);
  /// Names of an expert's weights, after its number: Mixtral's by default. Each has the shape (out, in), or
  /// (in, out) if they are `transposed`, as GPT-2's. `gate` is of a gated expert, and no router.
  std::string gate = "w1.weight", up = "w3.weight", down = "w2.weight";
  bool transposed = false;
  /// Names of the biases that are added to what up and down give, of experts that are not gated; "": none.
  std::string up_bias = "", down_bias = "";
  /// The type of the products, as in `ContractionOptions`.
  std::optional<at::ScalarType> compute_type = std::nullopt;
};

/// The role of experts: every layout shards them over the axis "ep", where the grid has it
/// (`spaces::with_experts`).
const Role& expert_role();

/// Where experts lie.
struct ExpertPlaces {
  std::string experts;                  ///< the axis that experts lie over; "": all workers have all
  std::vector<std::string> inner = {};  ///< the axes that shard each expert's inner width
};

/// Experts: (…, C) → (…, C), for each token the sum of its experts' results, each times its gate value:
///
///     y = Σ_j g_j · down_{e_j}(a(gate_{e_j} x) · up_{e_j} x)
///
/// Each worker of the axis of experts holds whole experts, or a part of one (`ExpertParts`). `Dispatch`
/// brings tokens there. Then the rows of one expert after another are multiplied, in one buffer. The results
/// go back the same way. Where this axis does not shard tokens, they are cut over it first. On the axes
/// `inner` experts are tensor-parallel: all workers there have the same tokens, and their results are added.
///
/// Each expert's weights are parameters of its own, such as "0.w1.weight": a checkpoint has them by expert.
/// Their inner width is sharded over the workers that share the expert, and over `inner`. Other workers of
/// the axis have no elements of them. On all other axes they are Replicated. Their gradients are summed over
/// those of them that shard tokens. The bias of `up` is sharded as the inner width. The bias of `down` is on
/// the first worker of its expert, and each worker along `inner` has a piece of it.
///
/// Cost over the axis of experts, for a worker that sends n rows to experts elsewhere and gets m rows. A
/// choice is one row, or one for each worker that shares the expert. Forward sends n·(C + 1) elements to
/// experts, and m·C of results back. Backward sends n·C and m·(C + 1). Each is one message to each worker
/// that gets any. Beside another function of x, gate values have a message of their own. Counts are exchanged
/// once, forward, unless the gate knew them. Over the axes `inner`, forward sums the result. Backward sums
/// the gradients of the tokens and of the gate values. Collective over the workers of X.
///
/// With stage 3 of `Zero` put experts into a numbered module, such as a block "h.0": it is gathered at once.
/// Outside of one each expert is a unit of its own, gathered by itself.
class Experts : public Layer<Experts> {
 public:
  /// Tokens in X, whose last dim is the width. y lies there too.
  /// @throws Error naming the axis where X and the places do not fit.
  Experts(OwnerAndName place, const Space& X, const ExpertPlaces& places, const ExpertsOptions& options);

  /// For a model whose letters are roles: its layout places tokens and experts. `tokens` are the dims of x
  /// and y in the stream, such as "btc". `experts` are the letters of experts and of their inner width, such
  /// as "ef". Their extents replace those of `options`.
  /// @throws Error unless the first of these has the `expert_role`; where the layout gives it several axes.
  Experts(Module& owner, const std::string& name, const std::string& tokens, const std::string& experts,
          const ExpertsOptions& options);

  /// `routing` is of these tokens. @throws Error naming both unless it is.
  Vector forward(const Vector& x, const Routing& routing);
  /// The same, and beside it another function of x, such as shared experts, while tokens are on their way.
  /// The results are added: `beside` gives a vector of X.
  Vector forward(const Vector& x, const Routing& routing, const std::function<Vector(const Vector&)>& beside);

  /// Where the gate computes: the space of its logits, and of its gate values, with this last extent.
  Space gate_space(std::int64_t last) const;
  /// The rows of this worker in a call with tokens of this shape, (…, C), each with k choices. Local.
  ExpertRows expected_rows(const std::vector<std::int64_t>& shape, std::int64_t k) const;
  ExpertRows most_rows(const std::vector<std::int64_t>& shape, std::int64_t k) const;
  std::string describe() const override;

 private:
  struct Weights {
    std::vector<Parameter> gate, up, down, up_bias, down_bias;  // by expert

    std::vector<const std::vector<Parameter>*> all() const {
      return {&gate, &up, &down, &up_bias, &down_bias};
    }
    bool trained() const;  // any of them
  };
  /// The results of this worker's experts, times the gate values. `counts`: the rows of each expert.
  at::Tensor computed(const at::Tensor& rows, const at::Tensor& gate_values,
                      const std::vector<std::int64_t>& counts);
  /// This worker's parts of its experts' weights, or biases.
  std::vector<at::Tensor> held(const std::vector<Parameter>& by_expert, at::ScalarType type) const;
  /// The products of rows with the weights here, (out, in) each. Biases, where there are any, are added from
  /// this column on.
  at::Tensor product(const at::Tensor& rows, const std::vector<Parameter>& weights,
                     const std::vector<Parameter>& biases, std::int64_t first_column,
                     const std::vector<std::int64_t>& counts) const;
  /// A weight of an expert, or its inner bias, with the inner width in this dim.
  Space with_inner(std::int64_t expert, const std::vector<std::int64_t>& shape, int inner_dim) const;
  /// The bias of an expert's result. Along the axes `inner` each worker adds a piece of it to what is summed
  /// there. The piece begins at this column.
  Space down_bias_space(std::int64_t expert) const;
  std::int64_t first_column_of_bias() const;
  /// The space in which a parameter of W is read.
  Space as_read(Space W) const;
  /// The number of T's tokens on each worker along the axis of experts.
  std::vector<std::int64_t> tokens_along(const Space& T) const;
  Vector run(const Vector& x, const Routing& routing, const std::function<Vector(const Vector&)>* beside);

  ExpertPlaces places_;
  ExpertsOptions options_;
  Space tokens_;      // X as it is computed with
  Partition fibre_;   // along the axis of experts
  std::string axis_;  // its name there
  ExpertParts parts_;
  Weights weights_;
};

}  // namespace riesz
