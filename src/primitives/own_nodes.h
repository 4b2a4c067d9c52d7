// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz::detail {

/// While it lives, what nodes save on this thread is made again by nodes recorded here alone: what others
/// gave is kept. Scopes nest.
class OwnNodes {
 public:
  OwnNodes();
  ~OwnNodes();
  OwnNodes(const OwnNodes&) = delete;
  OwnNodes& operator=(const OwnNodes&) = delete;

 private:
  std::int64_t outer_;
};

}  // namespace riesz::detail
