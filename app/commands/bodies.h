// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/app/jobs/form.h"
#include "riesz/train/loop/on_step.h"

namespace riesz {
struct Config;
}

namespace riesz::app {

struct ClassifyWords;
struct ConvertWords;
struct Diagnosis;
struct EvaluateWords;
struct ExplainWords;
struct GenerateWords;
struct HostWords;
struct PredictWords;
struct ScheduleRequest;
struct TokenizeWords;
struct VerifyReport;
struct VerifyWords;

/// The work of each command in this program, from its words; nullptr: another program has it. `riesz` trains,
/// and becomes `riesz-tools` for all other commands (`become_tools`). So a training builds no more than it
/// needs.
struct Bodies {
  void (*train)(const Config&, const OnStep&) = nullptr;
  void (*generate)(const GenerateWords&) = nullptr;
  std::string (*evaluate)(const EvaluateWords&, Form) = nullptr;
  void (*classify)(const ClassifyWords&) = nullptr;
  void (*predict)(const PredictWords&) = nullptr;
  std::string (*convert)(const ConvertWords&) = nullptr;
  std::string (*tokenize)(const TokenizeWords&, bool quiet) = nullptr;
  std::string (*inspect)(const std::string& path, const std::string& other, Form) = nullptr;
  std::string (*explain)(const Config&, const ExplainWords&, Form) = nullptr;
  std::string (*plan_memory)(const Config&, const HostWords&, Form) = nullptr;
  VerifyReport (*verify)(const Config&, const VerifyWords&, Form) = nullptr;
  std::string (*schedule)(ScheduleRequest, Form) = nullptr;
  Diagnosis (*doctor)(Form) = nullptr;
  // Of words that are wrong whatever is read later, before MPI starts.
  void (*check_rank)(const Config&, int rank) = nullptr;
  int (*check_host)(const Config&, const HostWords&) = nullptr;
  void (*check_schedule)(ScheduleRequest) = nullptr;
};

/// The bodies of this program, in riesz.cpp or riesz_tools.cpp.
extern const Bodies kBodies;

}  // namespace riesz::app
