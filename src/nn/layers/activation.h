// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "riesz/nn/layers/activation_formulas.h"
#include "riesz/nn/pointwise/pointwise.h"
#include "riesz/partition/vector.h"

namespace riesz {

// Each is point-wise, from x's space to itself, local, and differentiable. @throws Error on a Partial vector:
// a function of a sum is not the sum of the function.

/// GPT-2's gelu: x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks and Gimpel, 1606.08415).
Vector gelu(const Vector& x);

/// x·Φ(x) = x/2·(1 + erf(x/√2)), which `gelu` approximates to 5e-4.
Vector gelu_exact(const Vector& x);

/// max(x, 0); its derivative at 0 is 0.
Vector relu(const Vector& x);

/// x/(1 + exp(−x)), also named swish (Elfwing et al., 1702.03118).
Vector silu(const Vector& x);

/// A point-wise function a, in one pass over memory also where it meets a bias or a gate:
///
///     const Activation relu_squared("relu_squared", [](auto x) { return square(max(x, 0.0)); });
///     c_proj(c_fc(x, relu_squared))                 // a(W x + b): a Linear's bias and activation
///     down(gated(relu_squared, gate(x), up(x)))     // a(gate)·up
///
/// A name converts to an `Activation`. `activate_sum` is collective over both partitions, the others are
/// local; all throw as `pointwise` does.
class Activation {
 public:
  /// The library's of this name: "gelu", "gelu_exact", "relu" or "silu". @throws Error that lists them.
  Activation(const std::string& name) : forms_(named(name)) {}
  Activation(const char* name) : Activation(std::string(name)) {}
  /// One's own: f of an element, as in `pointwise`. `name` is for errors.
  template <typename F>
  Activation(const std::string& name, F f)
      : forms_(std::make_shared<const Forms>(
            Forms{detail::formula<1>(name, f), detail::formula<2>(name + " of x + b", detail::OfSum<F>{f}),
                  detail::formula<2>(name + ", gated", detail::Gated<F>{f})})) {}

  const std::string& name() const { return forms_->alone.name; }

  /// a(x), in x's space. It saves x for backward.
  friend Vector activate(const Activation& a, const Vector& x) {
    return detail::pointwise_of(a.forms_->alone, {x});
  }
  /// a(x + b), b with some of x's indices: "btc,c" as in `pointwise`. It saves x and b.
  friend Vector activate_sum(const Activation& a, const std::string& indices, const Vector& x,
                             const Vector& b) {
    return detail::pointwise_of(a.forms_->of_sum, indices, {x, b});
  }
  /// a(gate)·up, both in one space. It saves gate and up; in two operations a(gate) is saved too.
  friend Vector gated(const Activation& a, const Vector& gate, const Vector& up) {
    return detail::pointwise_of(a.forms_->gated, {gate, up});
  }

 private:
  struct Forms {
    detail::Formula alone, of_sum, gated;
  };
  using SharedForms = std::shared_ptr<const Forms>;
  static const SharedForms& named(const std::string& name);

  SharedForms forms_;
};

// Found also where the activation is a name.
Vector activate(const Activation& a, const Vector& x);
Vector activate_sum(const Activation& a, const std::string& indices, const Vector& x, const Vector& b);
Vector gated(const Activation& a, const Vector& gate, const Vector& up);

}  // namespace riesz
