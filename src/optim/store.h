// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/optim/pages.h"
#include "riesz/optim/state.h"

namespace riesz {

class Module;

/// A share: the part of one parameter that this worker updates. It is elements [begin, begin + value.numel())
/// of the parameter's local part, in row-major order.
struct Share {
  Parameter parameter;
  std::int64_t begin = 0;
  at::Tensor value;  ///< flat and contiguous, fp32 or fp64: the trained value, or the fp32 master of a half
                     ///< one. A half value itself where its master lies elsewhere (`Store::keep_masters_in`)
  at::Tensor gradient;  ///< flat and contiguous, of the value's size, fp32 or fp64; zeros where none came
  /// Does this worker count these elements in sums over the partition? Exactly one worker counts each element
  /// of the vector meant.
  bool counted = true;
  /// While gradients are not reduced (`Zero::set_reducing`): this worker's own gradient of its whole local
  /// part of the parameter, flat; `gradient` is the share's part of it. Else undefined.
  at::Tensor term;
  /// The part of the store. Neighbouring shares of one part are brought, updated and spread at once.
  std::size_t part = 0;
  /// If it is of a copy, of what an earlier store of `several` has under its name: the number of that share
  /// in the list, which is counted for both.
  std::optional<std::size_t> copy_of = std::nullopt;

  /// This worker's gradient for a step: its term where gradients are not reduced.
  const at::Tensor& arrived() const { return term.defined() ? term : gradient; }
};

/// Do gradients of these shares lie on a device? The same on all workers.
bool on_a_device(const std::vector<Share>& shares);

/// What a worker holds of its parameters' local parts.
enum class Holds {
  whole,            ///< values and gradients: a share is all of the local part
  whole_gradients,  ///< gradients whole, the values that it updates in parts
  parts,            ///< both are
};

/// A store: where trained values and their gradients lie on this worker. Both are changed in place through
/// `shares`.
class Store {
 public:
  virtual ~Store() = default;

  /// The shares as they are now. Each call gives the same parameters, begins and sizes in the same order,
  /// since an optimizer keeps its state by position. There is one share of each parameter, and the same list
  /// of parameters on all workers; a share may be empty. A gradient that the caller changes stays changed
  /// until backward adds to it.
  virtual std::vector<Share> shares() = 0;
  /// The shares' parts are numbered 0, 1, … in their order, the same on all workers.
  virtual std::size_t parts() const { return 1; }
  /// Call it when the values of a part have been updated. It begins to make anew what is derived from them,
  /// such as half copies and gathered values.
  virtual void spread(std::size_t part) = 0;
  /// The same for all parts. First it casts masters that lie elsewhere to their values.
  void updated();
  virtual void zero_gradients() = 0;
  virtual Holds holds() const = 0;
  /// Are the gradients reduced, so those of the vectors meant? If not, they are each worker's own terms.
  virtual bool reduced() const { return true; }
  /// The workers that agree on the norm, the scale and all decisions: those of all parameters together. On a
  /// pipeline also those of stages without parameters. @throws Error where nothing says who they are.
  virtual const Partition& partition() const = 0;
  /// This worker's part of the values, and of the masters of half ones. As collective as `shares`. Call
  /// `updated` after something was written into it.
  virtual State state();

  /// Says where optimizers keep their state of the shares, and the masters if `what` has them: in `place`,
  /// or, without one, in memory on the values' device. Call it before an optimizer is made of the store. With
  /// `several` stores call it on the store of all.
  void keep_state_in(std::shared_ptr<StatePlace> place, LiesThere what = LiesThere::state) {
    state_place_ = std::move(place);
    lies_there_ = what;
  }
  /// nullptr: in memory on the values' device.
  const std::shared_ptr<StatePlace>& state_place() const { return state_place_; }
  LiesThere lies_there() const { return lies_there_; }

  /// For optimizers: keeps the masters of half values in `places` from now on, one for each share, nullptr
  /// for a share without a master; without places in memory again. It writes the masters of now there, gives
  /// their memory back, and `shares` has the half values themselves. An optimizer casts each master that it
  /// updates to the value. Local. @throws Error if the store keeps masters in memory alone.
  virtual void keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places);
  /// Casts masters that lie elsewhere to their values; `updated` does so. Local.
  virtual void cast_masters() {}

  /// Tells the store that the gradients of these shares are finite on all workers, so that the next step need
  /// not look at them. For a caller that has just checked, such as clipping; on all workers alike. On a
  /// device they may turn out not to be: there `norms` has a number for each share, which is not finite where
  /// this worker's gradient is not. Undefined: all are.
  void know_finite(const std::vector<Share>& shares, const at::Tensor& norms = {});
  /// The argument `norms` of the last `know_finite`.
  const at::Tensor& known_norms() const { return norms_; }
  /// The numbers of the shares whose gradients this worker has changed since `know_finite`. nullopt, on all
  /// workers alike, if that was not called or other gradients may have come since on any worker. Forgets what
  /// was known.
  std::optional<std::vector<std::size_t>> changed_since_finite(const std::vector<Share>& shares);
  /// Makes the next step on a device change nothing where this flag without dims is false there, for what
  /// else decides, such as a loss. That step is no error. On all workers alike.
  virtual void step_only_if(const at::Tensor& flag) { only_if_ = flag; }
  /// The same where the flag is true, for the gradients of now, such as those that overflow under a
  /// LossScale. It is forgotten when other gradients are to come.
  virtual void skip_if(const at::Tensor& flag);
  /// The flag of `step_only_if`, or an undefined tensor. Forgets it.
  virtual at::Tensor take_only_if();
  /// That flag, and not the one of `skip_if`: true where a step is to be made, undefined if nobody decides.
  /// Forgets the one of `skip_if`.
  virtual at::Tensor take_goes_on(const at::Tensor& only_if);
  /// A number that changes whenever other gradients are to come.
  virtual std::uint64_t generation() const { return generation_; }

 protected:
  /// For stores: call it when other gradients are to come.
  void begin_generation() { ++generation_; }

 private:
  struct Seen {
    at::Tensor gradient;
    std::int64_t version;
  };
  struct Finite {
    std::uint64_t generation;
    std::uint64_t backward_passes;  // before any came after it
    std::vector<Seen> seen;
  };
  std::shared_ptr<StatePlace> state_place_;
  LiesThere lies_there_ = LiesThere::state;
  std::uint64_t generation_ = 0;
  std::optional<Finite> finite_;
  at::Tensor norms_;
  at::Tensor only_if_;
  at::Tensor skip_if_;
  std::uint64_t skips_in_ = 0;  // the generation that skip_if_ is of
};

/// The store of each worker's whole part of each parameter, with the gradient that backward left. Values and
/// gradients are views where they are contiguous, fp32 or fp64; else copies. Half values have fp32 masters,
/// which `updated` casts back. A master is made anew where something else has changed the value.
/// @throws Error naming a parameter that is given twice, has no value, or is not of a floating type. Also one
/// whose gradient is Partial or Copied on an axis: an update by part of it is not the update of the vector
/// meant. Also one that has a keeper, such as Zero: use the keeper's store. `shares` throws the same.
/// Parameters may lie on different workers, such as a placed model's. The store is then on the union of their
/// workers, and all of those make it; other workers do not.
std::shared_ptr<Store> whole(std::vector<Parameter> parameters);
/// The same for a model's parameters, on the workers of all its stages. Stages without parameters of their
/// own, such as a tied output layer's, count too.
std::shared_ptr<Store> whole(const Module& model);

/// Several stores as one, such as those of a pipeline's stages, on the union of their partitions. All workers
/// that take part in one store make all of them, in one order. An optimizer, `clip_gradients` or a LossScale
/// then has one norm, one scale and one answer for all. Parameters of two stores are different, even with
/// equal names, unless the name is among `tied`. Then they are copies of one weight with the same gradient,
/// and the first store's counts. `tied` is alike on all workers.
/// @throws Error if there is none.
std::shared_ptr<Store> several(std::vector<std::shared_ptr<Store>> stores,
                               const std::vector<std::string>& tied = {});

/// @throws Error naming `what` on a worker that is not one of the store's: the others' norm or answer would
/// not reach it.
void check_takes_part(const std::string& what, const Store& store);

/// The trained ones of some parameters, in their order. `whole` and `Zero` keep these.
std::vector<Parameter> trained_among(std::vector<Parameter> parameters);

/// Checks that a parameter can be trained. Its type must be fp64, fp32, bf16 or fp16. On each axis it must be
/// stored Sharded without overlaps, or Replicated: trained copies would get different gradients, which nobody
/// sums. @throws Error naming `what` and the parameter if not.
void check_trainable(const std::string& what, const Parameter& parameter);

}  // namespace riesz
