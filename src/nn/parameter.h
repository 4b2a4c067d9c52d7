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
  std::optional<at::ScalarType> type =
      std::nullopt;  ///< of a buffer: its elements' type, such as integers of a count; else the model's
};

/// A keeper of parameters' values and gradients, such as data parallelism and ZeRO. It knows each parameter
/// by a number, `key`.
class ParameterKeeper {
 public:
  virtual ~ParameterKeeper() = default;

  /// Brings the parameter's value to its leaf, for use. It stays there until the value of another module's
  /// parameter is asked for.
  virtual void use(std::size_t key) = 0;
  /// Is the value in the leaf now? Local.
  virtual bool is_here(std::size_t key) const = 0;
  /// The local part of the gradient, a vector of the dual of the parameter's space.
  virtual at::Tensor gradient(std::size_t key) = 0;
  /// Sets the value's local part to `local`, and all that is derived from it. Local.
  virtual void set(std::size_t key, const at::Tensor& local) = 0;
  /// Does the value stay in the leaf from one `use` until it is trained, so that others may read it there?
  virtual bool stays() const = 0;
  /// Announces a term of the gradient that belongs to no pass. The sum does not end until it has arrived.
  /// Local.
  virtual void gradient_to_come(std::size_t key) = 0;
  /// Such a term has arrived: this worker's part of it, if any, is at the leaf. Local.
  virtual void gradient_left(std::size_t key) = 0;
  /// A run of a pipeline comes to its parameters, of `times` micro-batches. Each of them is a pass of the
  /// step. Each run has a number `run`, and counts once however often it is said. Local, but on all workers
  /// of the model alike.
  virtual void come(std::uint64_t run, std::int64_t times) = 0;
};

/// A trained vector and its space; a shared handle. Its space may be a view of the published shape: GPT-2's
/// c_attn.weight of (C, 3C) is (C, 3, heads, head width) here. So a split by heads is a split of one dim.
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

  /// Sets its value to the initial one, with the same bits for a global index at every layout. The value is
  /// drawn when it is first asked for, or by a keeper, part by part. Drops a gradient. Local.
  /// @throws Error if it has a keeper.
  void initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU);
  /// The value as layers use it, a leaf. It lies in the parameter's space, but Copied on the axes over which
  /// a keeper sums its gradient. A parameter that is not trained is Copied wherever it is Replicated.
  /// Collective over its partition where a keeper shards it.
  /// @throws Error before `initialise`, or where its keeper is gone.
  Vector value() const;
  /// Its gradient, a vector of its space's dual; zero if none has reached it, or it is not trained. As
  /// collective as `value`. For reading only: a step takes the gradients in the optimizer's store, and a
  /// keeper may give a copy here.
  Vector gradient() const;
  void zero_gradient();

  // The published shape is `shape()`, as in checkpoints; a parameter's space may be a view of it. What a
  // loader calls is set(tensor), and what writes a checkpoint is full_tensor(get()).view(shape()):
  // each other's inverses, in the published shape.

  /// Sets its value from a vector in its space, or from a global tensor in its published shape (or its
  /// space's) that all workers have. Copies and casts to the parameter's type. Masters and gathered values
  /// follow; the optimizer's state stays. Local, but call it on all workers alike, between steps.
  /// @throws Error before `initialise`, or naming both spaces or shapes where they differ.
  void set(const Vector& value);
  void set(const at::Tensor& global);
  /// The same, but `write` writes the value in place: all elements of this worker's part, flat, in row-major
  /// order, in the parameter's type and on its device. Nothing is copied unless a keeper has the value. A
  /// value that was not drawn yet need not be. If `write` throws, a value that was not drawn stays undrawn;
  /// any other is written as far as `write` came.
  void fill(const std::function<void(const at::Tensor& part)>& write);
  /// A copy of its value, as a vector in its space. `full_tensor` makes a global tensor of it, and
  /// view(shape()) gives that the published shape. As collective as `value`.
  Vector get() const;

  /// Is it trained? `freeze` ends that: from then on it has no gradient, and optimizers and Zero leave it
  /// out. Call `freeze` before they are made.
  /// @throws Error if it has a keeper.
  bool trained() const;
  void freeze();

  /// Gives it to `keeper`, which keeps it as number `key`. Layers then use it in the space `use`: its own,
  /// but Copied on some axes where that is Replicated. `leaf` is the local part that they use.
  /// @throws Error if it has a keeper already or no value, or the leaf has another shape.
  void give_to(const std::shared_ptr<ParameterKeeper>& keeper, std::size_t key, const Space& use,
               at::Tensor leaf);
  bool has_keeper() const;
  /// The keeper, or nullptr. @throws Error where it is gone.
  std::shared_ptr<ParameterKeeper> keeper() const;
  /// Does its value stay in its leaf from `value` until it is trained, so that weight versions may be made
  /// there? Not with a keeper that gathers it for each use.
  bool stays() const;
  /// The space in which layers use it: its own, or as `give_to` said.
  Space used_in() const;
  /// Announces a `leave_gradient`, besides what passes bring; a keeper's sum waits for it. Code that computes
  /// with copies of the value calls it once for each. Local, but on all workers alike.
  void expect_gradient() const;
  /// Adds to the gradient this worker's part of a vector of used_in()'s dual; undefined: zero. A keeper sums
  /// it with others'. Local, but on all workers alike.
  void leave_gradient(const at::Tensor& local) const;
  /// The type of its values.
  /// @throws Error before `initialise`.
  at::ScalarType type() const;
  at::Device device() const;
  /// Copies elements `part` of its local part, in row-major order, into a flat tensor, for a keeper to take
  /// over. Where nothing has asked for the value yet, it draws these elements alone. Local.
  void copy_to(const at::Tensor& out, const Interval& part) const;
  /// The leaf itself; nothing moves.
  /// @throws Error before `initialise`, or where its keeper is gone or does not have the value here now. Do
  /// not read or write a leaf that was taken earlier then either.
  at::Tensor leaf() const;

  // A parameter that is used on another partition than its own, such as a tied weight on another stage, is
  // lent: under its name, as a vector of a space there.
  /// This parameter for use in X, a space of its shape. A lent parameter has no value of its own. `value()`
  /// is the owner's, brought by the natural map at each use, and its gradient goes back at each. Collective
  /// over both partitions. It is in no module's parameters(), and is trained if the owner is.
  Parameter lent(const Space& X) const;
  /// Its owner, if it is lent.
  std::optional<Parameter> owner() const;
  /// Makes layers use `leaf`: a vector of its space, or of that space with Copied for Replicated. Nothing
  /// moves: `value` and `gradient` are this leaf's. The stored value stays where it is, with a gradient of
  /// its own. The caller brings values to the leaf, and gradients back. nullopt ends that. Local.
  /// @throws Error unless it stays(), or naming both spaces where they differ otherwise.
  void use_leaf(const std::optional<Vector>& leaf);

  /// Are they one parameter? Two models may have parameters of equal names.
  friend bool operator==(const Parameter& a, const Parameter& b) { return a.impl_ == b.impl_; }

 private:
  struct Impl;
  explicit Parameter(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

namespace detail {

/// Counts how often a parameter of this process has changed its type or was frozen. Results remembered of
/// calls that use it are then out of date.
std::uint64_t parameter_changes();

}  // namespace detail
}  // namespace riesz
