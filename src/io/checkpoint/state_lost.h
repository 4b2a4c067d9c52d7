// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/error.h"

namespace riesz {

/// The Error of a save whose state cannot be read where it lies, such as on a disk that has failed. All
/// workers throw it. The state is lost, so training cannot go on.
class StateLost : public Error {
 public:
  using Error::Error;
};

}  // namespace riesz
