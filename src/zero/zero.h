// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/optim/store.h"
#include "riesz/partition/partition.h"

namespace riesz {

struct ZeroOptions {
  /// 0: data parallel; 1, 2, 3: ZeRO (Rajbhandari et al., 1910.02054).
  int stage = 0;
  /// The axes of the grid over which gradients are summed; none named: dp, ep and sp, of which it must have
  /// one. A parameter's own are those on which it is Replicated, so experts are not summed over ep.
  std::vector<std::string> axes = {};
  /// Neighbouring modules are reduced together up to so many elements; in stage 3 each is a unit of its own.
  std::int64_t bucket = std::int64_t{1} << 20;
  /// Stages 2 and 3: gradients are summed in segments of up to so many elements; two are under way.
  std::int64_t segment = std::int64_t{1} << 22;
  /// Stage 2: bounds the gradients that wait for workers that are late: so many elements, and no more than
  /// one pass brings. With more, backward waits. Then all workers make the same passes, the same parameters
  /// get gradients in them on all, and several Zeros are used in one order, as in stage 3. All gradients must
  /// be summed over the same workers. Without it nothing bounds them, and backward never waits.
  std::optional<std::int64_t> waiting = {};
  /// Stage 3: parameters of up to so many elements in a unit stay gathered from their first use to the step.
  std::int64_t keep = 4096;
  /// Stage 3: units that are gathered ahead of the one in use, as the last pass used them.
  int prefetch = 1;
};

/// What a worker holds, in bytes.
struct Holdings {
  std::int64_t parameters = 0;  ///< always
  std::int64_t gradients = 0;   ///< always
  std::int64_t masters = 0;     ///< always; fp32 of parameters in bf16 or fp16
  std::int64_t passing = 0;     ///< at most: buffers through which gradients pass, and what is gathered
  std::int64_t gathered = 0;    ///< of `passing`: gathered values that are let go after use
  /// At most, beside those of the unit in use: gradients that wait because this worker is ahead of others. 0
  /// where nothing bounds them.
  std::int64_t waiting = 0;
};

/// Where a model's state lives: data parallelism and ZeRO. A stage is a lifetime, of gathered values and of
/// unreduced gradients; no layer and no model knows of it. Parameters are divided into units and lie flat in
/// buckets. The space in which layers use one is Copied on the axes that its bucket's team spans. So nothing
/// is reduced twice, and its gradient is a term there.
///
///     stage   parameters, gradients    elements that leave a worker in a step of g micro-batches
///     0       Ψ, Ψ                     2(p − 1)/p·Ψ
///     1       Ψ, Ψ                     2(p − 1)/p·Ψ
///     2       Ψ, Ψ/p                   (g + 1)(p − 1)/p·Ψ
///     3       Ψ/p, Ψ/p                 3g(p − 1)/p·Ψ, less what is still gathered when it is used again
///
/// exactly: pieces are balanced and not padded. It is the Store that optimizers work on.
///
///     Zero zero(model.parameters(), {.stage = 2});
///     AdamW optimizer(zero.store());
///     for (std::int64_t i = 0; i < n; ++i) {
///       zero.begin(i, n);                              // may be left out where n is 1
///       Chain chain;
///       backward(loss(model(micro_batch(i))));         // of the whole batch's count
///     }
///     optimizer.step();
///     optimizer.zero_gradients();
///
/// Reductions begin while backward goes on, at the boundaries of units. All workers reduce in one order,
/// whatever order gradients come in. Reductions end before the step. A parameter that no gradient reaches, on
/// some workers or all, counts as having a zero one. A worker that uses none at all in a step says begin().
/// In stage 3 all workers must use their units in one order: where they do not, all throw an Error that names
/// both units.
///
/// A pass is what a Chain records, with what is computed again in its backward. On a pipeline it is what a
/// micro-batch records, however often it comes to these parameters. A step's passes go forward and backward
/// in any order, on any thread, one at a time. They go one after another, or as GPipe's or
/// 1F1B's, and one may be dropped. Only one thread at a time may be in a call of the model; a call by another
/// throws before anything changes. A `Routine`, and a `Thread` made inside the call, may continue it. A model
/// whose buckets no other worker shares, and whose gradients are summed in their own type, is not checked. In
/// stages 0 and 1 a unit is reduced when the last of the step's passes has brought its gradients. In stages 2
/// and 3 it is reduced once for each of the step's passes, when that one has brought them. Gradients that did
/// not come are zeros at the end of the step. Where weights' gradients are put off (`DeferredGradients`), a
/// pass has brought them when they are computed. A pass whose forward used other values than there are,
/// because they were trained or set since, is an Error in backward. Several Zeros work at once. Except in
/// stage 3, each worker goes on with them in an order of its own. But they are made one after the other, in
/// one order on all workers.
class Zero {
 public:
  /// Takes over the values of an initialised model's parameters, which lie on one partition. It must live as
  /// long as they are used. Collective over the partition. From then on only the optimizer and
  /// `Parameter::set` write values. In stage 3, and for half parameters, an in-place write to value().local()
  /// or leaf() would be lost. So the next use or step throws.
  /// @throws Error naming a parameter without a value, or that lies elsewhere or has a keeper. Also naming
  /// one that is trained and stored Copied or Partial on an axis. Also naming the stage, or an axis that the
  /// grid does not have. Also naming the grid if no axis is named and it has none of dp, ep and sp.
  explicit Zero(const std::vector<Parameter>& parameters, const ZeroOptions& options = {});
  /// The same, where there may be no parameter that is trained: a stage may be all frozen, or have a tied
  /// output layer alone. Then it keeps nothing. But its store's workers are these, so they get the
  /// norm, the scale and the decisions of `several`, the stores that it is one of.
  /// @throws Error also if a trained parameter lies on other workers than these.
  Zero(const std::vector<Parameter>& parameters, const Partition& workers, const ZeroOptions& options = {});
  ~Zero();
  Zero(const Zero&) = delete;
  Zero& operator=(const Zero&) = delete;

  /// Pass number `i` of `of` in a step begins, from 0: before its forward, on every worker. A step that is
  /// one run of a pipeline needs none of it: the run says how many micro-batches it has. `of` is the number
  /// of passes of the step, so of Chains that go backward through this Zero, also where nobody wants the
  /// gradients of its parameters. That is one for each micro-batch. With two Chains in each of n
  /// micro-batches call begin(2i, 2n) and begin(2i + 1, 2n). A GAN's discriminator has two, since its
  /// generator's loss goes through it as well. The chunks of a pipeline each have a Zero of their own. Local.
  /// The step is an Error that says how many passes came, if it is called for some of a step's passes but not
  /// for all. So it is if a pass does not go backward while its Chain is still there.
  /// @throws Error unless 0 <= i < of, or if another number of passes was given in this step.
  void begin(std::int64_t i, std::int64_t of);

  /// What optimizers work on. Its shares() waits for the gradients, its updated() spreads what was trained:
  /// both collective. So is its zero_gradients() where a step is given up after backward.
  std::shared_ptr<Store> store() const;

  /// From now on gradients stay each worker's own, unreduced (or are reduced again); stages 0 and 1 only. To
  /// be said between steps. For optimizers that exchange something else. @throws Error in other stages, or
  /// within a step.
  void set_reducing(bool reducing);

  Holdings holdings() const;
  /// A line for each unit, by the path of its first module. A unit is a part of the model that is gathered
  /// and reduced together: a numbered part, or a module outside of those. The line has for each of its
  /// buckets "n elements on p workers" and the axes over which gradients are summed, whose p workers share
  /// them. Frozen parameters are in none.
  std::string describe() const;

 private:
  struct Impl;

  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
