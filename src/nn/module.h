// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/comm/layer_scope.h"
#include "riesz/nn/parameter.h"

namespace riesz {

/// A part of a model: a name, parameters and children, in the order they were adopted. A module is its
/// spaces: what it communicates follows from them. Members adopt themselves to their owner by address, so a
/// module stays in place.
class Module {
 public:
  explicit Module(std::string name);
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// From the root, such as "transformer.h.0.attn"; parts without a name are left out.
  std::string path() const;
  /// All parameters of this module and below, in order, under their full names.
  std::vector<Parameter> parameters() const;
  /// Draws every parameter by (seed, full name, global index): the same weights at every layout. Keeps the
  /// seed for the masks of dropout. From then on this is a whole model, even if it is only one layer, such
  /// as a dropout.
  /// @throws Error naming it where two parameters have one full name, or this is a part.
  void initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device = at::kCPU);

  /// Of the root, for all below: whether dropout drops, and the step that keys its masks. @throws Error on a
  /// part.
  void set_training(bool training);
  void set_step(std::int64_t step);
  /// What the root says. All three @throw Error unless it was initialised: a part that no constructor adopted
  /// would never hear of another step, or of the end of training.
  bool training() const { return whole().training_; }
  std::int64_t step() const { return whole().step_; }
  std::uint64_t seed() const { return whole().seed_; }

  /// The module in a line, such as "Linear (B, T, 8) -> (B, T, 32)".
  virtual std::string describe() const = 0;
  /// This module and those below, a line each, indented, with full names and parameters.
  std::string tree() const;

 protected:
  /// What is sent while the result lives is this module's: every call of a module opens one.
  LayerScope layer_scope() const;

  template <typename... Children>
  void adopt(Children&... children) {
    (adopt_one(children), ...);
  }

 private:
  void adopt_one(Module& child);
  void adopt_one(const Parameter& parameter);
  const Module& root() const;
  /// The root, once it is initialised.
  const Module& whole() const;
  void check_whole(const char* what) const;

  std::string name_;
  Module* owner_ = nullptr;
  std::vector<Module*> children_;
  std::vector<Parameter> parameters_;
  // Of the root:
  std::uint64_t seed_ = 0;
  std::int64_t step_ = 0;
  bool training_ = true;
  bool initialised_ = false;
};

}  // namespace riesz
