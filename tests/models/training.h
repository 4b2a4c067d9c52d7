// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/models/min_gpt.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

/// A small training problem: a model, and a batch of B sequences of T tokens a step, the same on every
/// worker.
struct Problem {
  models::MinGptConfig config;
  std::int64_t batch;
  std::int64_t sequence;
};

/// minGPT's spaces by what they are of.
struct MinGptSpaces {
  explicit MinGptSpaces(const ModelSpaces& s)
      : all(s),
        tokens(s.stream("bt")),
        targets(s.inside("bt")),
        stream(s.stream("btc")),
        qkv(s.inside("qbthd")),
        attending(s.attending("qbthd")),
        heads(s.inside("bthd")),
        hidden(s.inside("btf")),
        logits(s.inside("btv")),
        token_table(s.weight("btv,vc->btc")),
        position_table(s.weight("tp,pc->tc")),
        qkv_weight(s.weight("btc,cqhd->qbthd")),
        heads_weight(s.weight("bthd,hdc->btc")),
        up_weight(s.weight("btc,cf->btf")),
        down_weight(s.weight("btf,fc->btc")),
        logits_weight(s.weight("btc,vc->btv")) {}
  MinGptSpaces(const riesz::Layout& layout, const models::MinGptConfig& config)
      : MinGptSpaces(ModelSpaces(layout, config.roles())) {}

  ModelSpaces all;
  Space tokens, targets, stream, qkv, attending, heads, hidden, logits;
  Space token_table, position_table, qkv_weight, heads_weight, up_weight, down_weight, logits_weight;
};

/// A model that is nothing but its spaces, for parts to stand in.
class Root : public Module {
 public:
  explicit Root(const ModelSpaces& spaces) : Module("", spaces) {}
  std::string describe() const override { return "a root"; }
};

inline constexpr std::uint64_t kSeed = 7;
inline constexpr double kLearningRate = 1e-2;
inline constexpr double kEpsilon =
    1e-6;  // a key bias's true gradient is zero: Adam would blow up its rounding
inline constexpr double kWeightDecay = 0.1;

/// Ids or targets of (B, T) of a step, made by Philox; every fifth target is −1, ignored.
at::Tensor ids_of(const Problem& problem, int step);
at::Tensor targets_of(const Problem& problem, int step);

/// Trains in fp64: initial weights, the first step's logits and gradients, each step's loss and the weights
/// after the last.
/// `zero`: under a Zero of that stage for the parameters of each partition, with one optimizer for all.
TrainingRun train(const Problem& problem, const ModelSpaces& spaces, int steps, std::optional<int> zero = {});
TrainingRun train(const Problem& problem, const riesz::Layout& layout, int steps);
/// The same on a mesh of "dp" and "tp".
TrainingRun train(const Problem& problem, const Partition& mesh, int steps);

/// The same in plain LibTorch in this process, from the initial weights of a run of one worker: under the
/// same names and in the same shapes. Only those weights and the masks of dropout are Riesz's.
TrainingRun train_plainly(const Problem& problem, const TrainingRun& one_worker, int steps);

}  // namespace riesz::testing
