// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The purpose of one call of a model: training or evaluation, and which rows of the global batch. It
/// belongs to the call and not to the model. Each micro-batch under way has its own, and so has a region that
/// runs again in backward.
///
///     const ContextScope scope({.training = true, .seed = 1, .step = step});
///     const Vector logits = model(ids);
struct Context {
  bool training = false;       ///< does dropout drop?
  std::uint64_t seed = 0;      ///< of the run: keys the masks of dropout, with the layer's path and the step
  std::int64_t step = 0;       ///< of training
  std::int64_t first_row = 0;  ///< the place of the call's first row in the global batch
  std::int64_t rows = 0;       ///< of the global batch; 0: the call's own, which is all of it

  bool operator==(const Context&) const = default;
};

/// Sets the context of a thread while it lives: calls of modules on this thread, and on a `Thread` made here,
/// have it. Scopes nest.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  /// The innermost context of this thread, or nullptr. Copy it to make the same call again later.
  static const Context* current();

 private:
  Context context_;
  const ContextScope* outer_;
};

}  // namespace riesz
