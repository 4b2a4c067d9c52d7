// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/unwritten.h"

#include "riesz/comm/error.h"

namespace riesz::detail {

void add_identity(const Vector& x, Identities& all) { all.push_back(x.local().unsafeGetTensorImpl()); }

void throw_written(const std::string& module) {
  throw_error(
      concat("module ", module,
             " has written a vector into an argument; in a model of several stages it is given a copy, "
             "whose vectors lie on its stage, so the caller would not see that; return it instead"));
}

}  // namespace riesz::detail
