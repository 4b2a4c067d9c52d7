// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/app/jobs/form.h"

namespace riesz::app {

/// What `riesz doctor` says.
struct Diagnosis {
  std::string text;
  bool right = true;  ///< are the numbers? Advice about a host makes nothing wrong
};

/// Looks at the versions, each host, the links between ranks, adjoints and a short training. Takes some
/// seconds. Collective over the job; rank 0's text is of all hosts.
Diagnosis diagnose(Form form);

}  // namespace riesz::app
