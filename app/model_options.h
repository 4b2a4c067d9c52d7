// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "riesz/app/load_model.h"

namespace riesz::app {

/// Adds to a command the folder of its model, which has `files`, and the options that say how it lies on the
/// job's ranks.
void add_model_options(CLI::App& command, ModelWords& words, const std::string& files);

}  // namespace riesz::app
