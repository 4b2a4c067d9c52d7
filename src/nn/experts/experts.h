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
  bool gated = true;                ///< down(a(gate(x))·up(x)), else down(a(up(x)))
  Initial initial = Initial::normal(0.02);
  Initial initial_down = Initial::normal(0.02);
  /// Names of an expert's weights, after its number: Mixtral's by default. Each has the shape (out, in), or
  /// (in, out) if they are `transposed`, as GPT-2's.
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

/// Experts: (…, C) → (…, C), for each token the sum of its chosen experts' results, times their gates:
///
///     y = Σ_j g_j · down_{e_j}(a(gate_{e_j} x) · up_{e_j} x)
///
/// The axis of experts has whole experts on each of its workers, evenly or not, or several workers to an
/// expert (`ExpertParts`). Tokens go to them by `Dispatch`: one message to each worker that gets any, then
/// products of the rows of one expert after another, in one buffer, and the same way back. Where this axis
/// does not shard tokens, they are cut over it first. On the axes `inner` experts are tensor-parallel: all
/// workers there have the same tokens, and their results are added.
///
/// Each expert's weights are parameters of its own, "0.w1.weight" and so on, in checkpoints by expert. One
/// lies whole on the workers of its expert, and no elements of it on the others; it is Replicated on all
/// other axes. So its gradient is summed over exactly the axes that replicate it. A bias lies as the result
/// that it is added to: that of `down` on the first of several workers to an expert, and by pieces over the
/// axes `inner`.
///
/// Cost over the axis of experts, for a worker with n choices of experts elsewhere, whose own experts get m
/// choices from there. Forward n·(C + 1) elements leave it, and m·C to send results back. Backward the same n
/// and m: n·C and m·(C + 1). The counts go round once, forward, unless the gate knew them. Over the axes
/// `inner` the cost is that of a linear layer. Collective over the workers of X.
///
/// In stage 3 of `Zero`, experts are in a numbered part of the model, such as a block "h.0". Else each expert
/// is a unit of its own, which is let go while the next one comes.
class Experts : public Layer<Experts> {
 public:
  /// Tokens in X, whose last dim is the width; y lies there too.
  /// @throws Error naming the axis where X and the places do not fit.
  Experts(OwnerAndName place, const Space& X, const ExpertPlaces& places, const ExpertsOptions& options);

  /// For a model whose letters are roles: its layout places tokens and experts. `tokens` are the dims of x
  /// and y, in the stream, such as "btc"; `experts` are those of experts and of their inner width, such as
  /// "ef", whose extents are those of `options`.
  /// @throws Error unless the first of these has the `expert_role`; where the layout gives it several axes.
  Experts(Module& owner, const std::string& name, const std::string& tokens, const std::string& experts,
          const ExpertsOptions& options);

  /// `routing` is of these tokens. @throws Error naming both unless it is.
  Vector forward(const Vector& x, const Routing& routing);
  /// The same, and beside it another function of x, such as shared experts, while tokens are on their way.
  /// The results are added: `beside` gives a vector of X.
  Vector forward(const Vector& x, const Routing& routing, const std::function<Vector(const Vector&)>& beside);

  /// Where logits and gates should lie, with this number in the last dim: then nothing moves.
  Space gates_space(std::int64_t last) const;
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
  /// The rows' results times their gates, on this worker's experts, of as many rows each.
  at::Tensor computed(const at::Tensor& rows, const at::Tensor& gates,
                      const std::vector<std::int64_t>& counts);
  /// The parts of the weights, or of the biases, that this worker's experts have here.
  std::vector<at::Tensor> held(const std::vector<Parameter>& by_expert, at::ScalarType type) const;
  /// The products of rows with the weights here, (out, in) each, and where there are biases with these added,
  /// from this column on.
  at::Tensor product(const at::Tensor& rows, const std::vector<Parameter>& weights,
                     const std::vector<Parameter>& biases, std::int64_t first_column,
                     const std::vector<std::int64_t>& counts) const;
  /// A weight of an expert, or its inner bias, with the inner width in this dim.
  Space with_inner(std::int64_t expert, const std::vector<std::int64_t>& shape, int inner_dim) const;
  /// The bias of what an expert gives. Over the axes of the inner width each worker adds a piece of it to
  /// what is summed there, which begins at this column.
  Space down_bias_space(std::int64_t expert) const;
  std::int64_t first_column_of_bias() const;
  /// As a parameter of this space is read.
  Space as_read(Space W) const;
  /// How many tokens of T each worker along the axis of experts has.
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
