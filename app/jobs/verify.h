// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/jobs/form.h"
#include "riesz/app/jobs/plan_memory.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The result of verifying a training's step.
struct Verified {
  std::string model;
  std::string mesh;
  int workers = 0;
  int classes = 0;          ///< of workers that do the same
  int run = 0;              ///< workers that were run, each in a simulation
  int compared = 0;         ///< of these, such as were compared with the first of their class
  std::int64_t events = 0;  ///< of one worker at the most
  double messages = 0;      ///< of all workers, each with its other end
  double bytes = 0;
  /// Bytes that a worker must be able to keep of what it sends from stage to stage.
  std::int64_t kept = 0;
  double seconds = 0;
  std::string memory;  ///< what a rank takes, beside what it may
  /// What is wrong, with both ends or the circle; empty: nothing.
  std::string fault;
  std::string picture;  ///< of the fault, as SVG; empty if there is none, or if two workers of a class differ

  bool right() const { return fault.empty(); }
};

/// Runs the real program of a step as workers of the configuration's layout, one after another, without
/// values (`WithoutValues`), and matches what they would send, expect and wait for. If there are more than
/// 64, it runs one of each class (`WorkerClasses`), and the last of the largest in each stage to compare.
/// Memory: by `estimate_memory`. Local; resets `Counters`. @throws Error on bad input.
Verified verify(const Config& config, const HostWords& host);

std::string to_string(const Verified& verified);
std::string to_json(const Verified& verified);

/// The words of `riesz verify` beside the configuration.
struct VerifyWords {
  HostWords host;
  std::optional<std::int64_t> workers;
};

/// The text that `riesz verify` prints, whether the workers' programs fit together, and the picture of a fault.
struct VerifyReport {
  std::string text;
  bool right;
  std::string picture;  ///< as that of `Verified`
};

/// The configuration with as many workers: layout.dp is what the other axes leave of them, unless the command
/// line says it.
/// @throws Error where they do not divide.
Config on_workers(Config config, std::int64_t workers);

/// `verify` as `riesz verify` prints it. @throws Error on bad input.
VerifyReport verify_report(const Config& config, const VerifyWords& words, Form form);

}  // namespace riesz::app
