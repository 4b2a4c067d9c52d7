// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace riesz::testing {

/// How a case went on this worker.
struct Outcome {
  std::string differs;  ///< from the CPU, and how; empty: in nothing
  /// Host reads in the third step, by name; nothing: it has no steps.
  std::optional<std::map<std::string, std::int64_t>> reads = {};
};

/// Something that is run on the pretend device and on the CPU. Collective over the job.
struct Case {
  std::string name;
  std::function<Outcome()> run;
};

// What there is on this number of workers.
std::vector<Case> operator_cases();
std::vector<Case> layer_cases();
std::vector<Case> training_cases();
std::vector<Case> updating_cases();
std::vector<Case> generation_cases();
std::vector<Case> checkpoint_cases();

}  // namespace riesz::testing
