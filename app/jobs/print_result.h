// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::app {

/// Writes a part of a result on standard output, at once. Local. @throws Error with the system's reason.
void print_part(const std::string& text);
/// Writes a note on standard error, on the job's first rank alone. Local.
void print_note(const std::string& text);
/// Writes a result on standard output, on the job's first rank alone. Local. @throws Error likewise.
void print_result(const std::string& text);

}  // namespace riesz::app
