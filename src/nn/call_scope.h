// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/comm/layer_scope.h"

namespace riesz {

/// A call scope: an RAII object that lives while a module is called on this thread. It sets the layer for
/// which messages are sent. Scopes nest, for a module calls its parts.
class CallScope {
 public:
  explicit CallScope(std::shared_ptr<const Origin> origin);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  /// The identity of this thread's outermost call: a new object for each, which is released at its end.
  /// nullptr outside of all calls.
  static std::shared_ptr<const void> outermost();

 private:
  LayerScope layer_;
};

}  // namespace riesz
