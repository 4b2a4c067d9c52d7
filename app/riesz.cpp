// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/bodies.h"
#include "riesz/app/jobs/train.h"

namespace riesz::app {

const Bodies kBodies{.train = train};

}  // namespace riesz::app
