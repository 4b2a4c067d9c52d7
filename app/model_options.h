// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "riesz/app/load_model.h"

namespace riesz::app {

/// Adds to a command the argument FOLDER, the folder of its model, which must have `files` as the help says,
/// and the options of the layout on the job's ranks: --tp, --sp, --dp, --pp, --tensor, --precision.
void add_model_options(CLI::App& command, ModelWords& words, const std::string& files);

}  // namespace riesz::app
