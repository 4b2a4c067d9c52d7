// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/random/initial.h"
#include "riesz/partition/vector.h"

namespace riesz {

struct ParameterOptions {
  Initial initial = Initial::zeros();
  bool decays = false;  ///< does weight decay apply?
  std::vector<std::int64_t> shape =
      {};  ///< as published in checkpoints, of which the space is a view; else the space's
  bool trained =
      true;  ///< else it has no gradient, and no optimizer steps it: a buffer, such as a running mean
};

/// A keeper of values and gradients of parameters, such as data parallelism and ZeRO. It knows each by a
/// number, `key`.
class ParameterKeeper {
 public:
  virtual ~ParameterKeeper() = default;

  /// The parameter's value is about to be used: on return it is in the parameter's leaf, and it stays there
  /// until the value of another module's parameter is asked for.
  virtual void use(std::size_t key) = 0;
  /// Is the value in the leaf now? Local.
  virtual bool is_here(std::size_t key) const = 0;
  /// The local part of the gradient, a vector of the dual of the parameter's space.
  virtual at::Tensor gradient(std::size_t key) = 0;
  /// From now on the value's local part is `local`, and all that is derived from it follows. Local.
  virtual void set(std::size_t key, const at::Tensor& local) = 0;
  /// Does the value stay in the leaf, so that others may read it there after one `use`, until it is trained?
  virtual bool stays() const = 0;
  /// A term of the gradient is to come that is no pass's: until it is left the sum does not end. Local.
  virtual void gradient_to_come(std::size_t key) = 0;
  /// This worker's part of such a term is at the leaf, or there is none. Local.
  virtual void gradient_left(std::size_t key) = 0;
};

/// A trained vector and where it is stored: a shared handle. Its space may be a view of the published shape,
/// such as GPT-2's c_attn.weight of (C, 3C) as (C, 3, heads, head width). So a split by heads is a split of
/// one dim.
class Parameter {
 public:
  /// @throws Error naming both shapes unless the space's elements are those of options.shape.
  Parameter(std::string name, const Space& space, const ParameterOptions& options);

  /// For a module's parameter the full name, such as "transformer.h.0.attn.c_attn.weight".
  const std::string& name() const;
  const Space& space() const;
  const std::vector<std::int64_t>& shape() const;
  bool decays() const;
  /// Elements of the vector meant, counted once whatever the layout.
  std::int64_t numel() const;

  /// From now on its value is the initial one, the same bits for a global index at every layout. It is drawn
  /// when it is first asked for, or by a keeper, part by part. Local. Drops a gradient.
  /// @throws Error if it has a keeper.
  void initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU);
  /// The value as layers use it, a leaf: in its space, but Copied on the axes over which a keeper sums its
  /// gradient. A parameter that is not trained is Copied wherever it is Replicated. Collective over its
  /// partition where a keeper shards it.
  /// @throws Error before `initialise`, or where its keeper is gone.
  Vector value() const;
  /// Its gradient, a vector of its space's dual; zero if none has reached it, or it is not trained. As
  /// collective as `value`. To be read: what a step takes is in the optimizer's store, of which a keeper may
  /// give a copy here.
  Vector gradient() const;
  void zero_gradient();

  // The published shape is `shape()`, as in checkpoints; a parameter's space may be a view of it. What a
  // loader calls is set(tensor), and what writes a checkpoint is full_tensor(get()).view(shape()):
  // each other's inverses, in the published shape.

  /// Gives it the value of a vector in its space, or of a global tensor in its published shape (or its
  /// space's), alike on all workers. Copies, in the parameter's own type; masters and gathered values follow,
  /// the optimizer's state stays. Local, but on all workers alike; between steps.
  /// @throws Error before `initialise`, or naming both spaces or shapes where they differ.
  void set(const Vector& value);
  void set(const at::Tensor& global);
  /// The same, of what `write` writes: all elements of this worker's part, flat, in row-major order, in the
  /// parameter's own type and on its device. Nothing is copied unless a keeper has the value: it is written
  /// where it stays, and one that was not drawn yet need not be. If `write` throws, a value that was not
  /// drawn stays so; any other is written as far as it came.
  void fill(const std::function<void(const at::Tensor& part)>& write);
  /// A copy of its value as a vector in its space, which has the space's shape: `full_tensor` makes a global
  /// tensor of it, and view(shape()) gives that the published one. As collective as `value`.
  Vector get() const;

  /// Is it trained? `freeze` ends that: it has no gradient from then on, and optimizers and Zero leave it
  /// out. To be said before they are made.
  /// @throws Error if it has a keeper.
  bool trained() const;
  void freeze();

  /// From now on `keeper` keeps it as number `key`, and layers use it in the space `use`, its own but Copied
  /// on some axes where that is Replicated; `leaf` is their local part of it.
  /// @throws Error if it has a keeper already, or no value, or the leaf another shape.
  void give_to(const std::shared_ptr<ParameterKeeper>& keeper, std::size_t key, const Space& use,
               at::Tensor leaf);
  bool has_keeper() const;
  /// Is its value in its leaf, from `value` until it is trained, so that versions of it may be made there?
  /// Not with a keeper that gathers it for each use.
  bool stays() const;
  /// The space in which layers use it: its own, or as `give_to` said.
  Space used_in() const;
  /// Besides what passes bring there will be a `leave_gradient`, for which a keeper's sum waits: said by who
  /// computes with copies of the value, as many times as it leaves one. Local, but on all workers alike.
  void expect_gradient() const;
  /// Adds to the gradient this worker's part of a vector of used_in()'s dual; undefined: zero. A keeper sums
  /// it with others'. Local, but on all workers alike.
  void leave_gradient(const at::Tensor& local) const;
  /// The type of its values.
  /// @throws Error before `initialise`.
  at::ScalarType type() const;
  at::Device device() const;
  /// Copies elements `part` of its local part, in row-major order, into a flat tensor: drawn, where nothing
  /// has asked for the value yet, without the others. What a keeper takes over. Local.
  void copy_to(const at::Tensor& out, const Interval& part) const;
  /// The leaf itself; nothing moves.
  /// @throws Error before `initialise`, or where its keeper is gone or does not have the value here now. A
  /// leaf that was taken earlier must not be read or written then either.
  at::Tensor leaf() const;

  // A parameter that is used on another partition than its own, such as a tied weight on another stage, is
  // lent: under its name, as a vector of a space there.
  /// This parameter, to be used in X, a space of its shape. A lent parameter has no value of its own.
  /// `value()` is the owner's, brought by the natural map at each use, so that its gradient goes back at
  /// each. Collective over both partitions. It is in nobody's parameters(), and trained if the owner is.
  Parameter lent(const Space& X) const;
  /// Whose it is, if it is lent.
  std::optional<Parameter> owner() const;
  /// From now on layers use `leaf`, a vector of its space, or of that with Copied for Replicated, and nothing
  /// moves: `value` and `gradient` are this leaf's. The stored value stays where it is, with a gradient of
  /// its own. The caller brings values there, and gradients back. Without one, as before. Local. @throws
  /// Error unless it stays(); or naming both spaces.
  void use_leaf(const std::optional<Vector>& leaf);

 private:
  struct Impl;
  explicit Parameter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

namespace detail {

/// How often a parameter of this process has become one of another type, or frozen: what was found out of
/// calls that use it holds no longer.
std::uint64_t parameter_changes();

}  // namespace detail
}  // namespace riesz
