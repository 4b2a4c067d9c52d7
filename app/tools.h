// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::app {

/// Replaces this process by the program riesz-tools, which lies beside this one, with the same words. Returns
/// the reason if that fails. To be called before MPI starts. `command`: the command that riesz-tools has, for
/// the reason.
std::string become_tools(const std::string& command, char** argv);

}  // namespace riesz::app
