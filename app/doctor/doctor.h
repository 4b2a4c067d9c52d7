// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/app/jobs/form.h"

namespace riesz::app {

/// The result of `riesz doctor`.
struct Diagnosis {
  std::string text;
  bool right = true;  ///< are all numbers right? Advice about a host does not change this
};

/// Checks the versions, each host, the links between ranks, adjoints and a short training. Takes some
/// seconds. Collective over the job; rank 0's text is about all hosts.
Diagnosis diagnose(Form form);

}  // namespace riesz::app
