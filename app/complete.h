// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "riesz/app/describe.h"

namespace riesz::app {

/// A script for a shell, bash, zsh or fish, that completes commands, options and their values, keys and their
/// values, and files.
std::string completion(const CLI::App& program, const CommandKeys& keys, const std::string& shell);

}  // namespace riesz::app
