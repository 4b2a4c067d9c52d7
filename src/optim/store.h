// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/optim/state.h"

namespace riesz {

class Module;

/// What this worker updates of one parameter: elements [begin, begin + value.numel()) of its local part, in
/// that part's row-major order.
struct Share {
  Parameter parameter;
  std::int64_t begin = 0;
  at::Tensor
      value;  ///< flat and contiguous, fp32 or fp64: the trained value, or the fp32 master of a half one
  at::Tensor gradient;  ///< flat and contiguous, of the value's type and size; zeros where none came
  /// Does this worker count these elements in sums over the partition? Exactly one worker counts each element
  /// of the vector meant.
  bool counted = true;
  /// While gradients stay each worker's own, unreduced (`Zero::set_reducing`): this worker's, of its whole
  /// local part of the parameter, flat; `gradient` is the share's part of it. Else undefined.
  at::Tensor term;
  /// Neighbours of one number are brought, updated and spread at once.
  std::size_t part = 0;
  /// If it is of a copy, of what an earlier store of `several` has under its name: the number of that share
  /// in the list, which is counted for both.
  std::optional<std::size_t> copy_of = std::nullopt;

  /// This worker's gradient for a step: its term where gradients are not reduced.
  const at::Tensor& arrived() const { return term.defined() ? term : gradient; }
};

/// What a worker holds of its parameters' local parts.
enum class Holds {
  whole,            ///< values and gradients: a share is all of the local part
  whole_gradients,  ///< gradients whole, the values that it updates in parts
  parts,            ///< both are
};

/// Where trained values and their gradients lie on this worker. Both are changed in place through `shares`.
class Store {
 public:
  virtual ~Store() = default;

  /// As they are now: the same parameters, begins and sizes in the same order at each call, for an optimizer
  /// keeps its state by position. One share of each parameter, and the same list of parameters on all
  /// workers; a share may be empty. A change of a gradient that came stays at the next call, until backward
  /// adds to it.
  virtual std::vector<Share> shares() = 0;
  /// The shares' parts are numbered 0, 1, … in their order, the same on all workers.
  virtual std::size_t parts() const { return 1; }
  /// The values of a part have been updated: what is derived from them begins to be made anew, such as half
  /// copies and gathered values.
  virtual void spread(std::size_t part) = 0;
  /// The same for all parts.
  void updated();
  virtual void zero_gradients() = 0;
  virtual Holds holds() const = 0;
  /// Are the gradients those of the vectors meant? Else they are each worker's own terms, which nobody has
  /// summed.
  virtual bool reduced() const { return true; }
  /// The workers that have one norm, one scale and one answer: those of all parameters together, and of a
  /// pipeline also those of stages that have none. @throws Error where nothing says who they are.
  virtual const Partition& partition() const = 0;
  /// What this worker holds of the values, and of masters of half ones. As collective as `shares`; after
  /// something was written into it, `updated` is to be called.
  virtual State state();

  /// Tells the store that the gradients of these shares are finite on all workers, so that the next step need
  /// not look. For what has just seen it, such as clipping; on all workers alike.
  void know_finite(const std::vector<Share>& shares);
  /// The shares whose gradients this worker has changed since `know_finite`; nullopt if that was not called,
  /// or other gradients may have come since, on any worker: then on all alike. Forgets what was known.
  std::optional<std::vector<Share>> changed_since_finite(const std::vector<Share>& shares);
  /// Another number whenever other gradients are to come.
  virtual std::uint64_t generation() const { return generation_; }

 protected:
  /// A store calls it where other gradients are to come.
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
  std::uint64_t generation_ = 0;
  std::optional<Finite> finite_;
};

/// Each worker's whole part of each parameter, with the gradient that backward left. Values and gradients are
/// views where they are contiguous, fp32 or fp64; else copies: half values have fp32 masters, cast back by
/// `updated`, and made anew where something else has changed the value since.
/// @throws Error naming a parameter that is given twice, has no value, is not of a floating type, or whose
/// gradient is Partial or Copied on an axis: an update by part of it is not the update of the vector meant;
/// or that something else keeps, such as Zero, whose store is the one to update. Likewise from `shares`.
/// Parameters may lie on different workers, such as a placed model's: the store is then on the union of them,
/// and all of those make it. A worker that none of the parameters lies on is not among them.
std::shared_ptr<Store> whole(std::vector<Parameter> parameters);
/// Of a model's parameters, on the workers of all its stages: also of one that has no parameters of its own,
/// such as a tied output layer's.
std::shared_ptr<Store> whole(const Module& model);

/// Several stores as one, such as those of a pipeline's stages, on the union of their partitions: all who
/// take part in one make all of them, in one order. An optimizer, `clip_gradients` or a LossScale of it has
/// one norm, one scale and one answer for all. Parameters of two stores are two, also where their names are
/// equal, unless the name is among `tied`: then they are copies of one weight, whose gradients are the same,
/// and the first store's counts. `tied` is alike on all workers.
/// @throws Error if there is none.
std::shared_ptr<Store> several(std::vector<std::shared_ptr<Store>> stores,
                               const std::vector<std::string>& tied = {});

/// @throws Error naming `what` on a worker that is none of the store's: the others' norm or answer would not
/// reach it, and it would go on otherwise than they do.
void check_takes_part(const std::string& what, const Store& store);

/// Those that are trained, in their order: what `whole` and `Zero` keep of what they are given.
std::vector<Parameter> trained_among(std::vector<Parameter> parameters);

/// @throws Error naming `what` and the parameter unless it is of a type that is trained (fp64, fp32, bf16,
/// fp16), and stored Sharded, without overlaps, or Replicated on each axis. Trained copies would get
/// different gradients, which nobody sums.
void check_trainable(const std::string& what, const Parameter& parameter);

}  // namespace riesz
