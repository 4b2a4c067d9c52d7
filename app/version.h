// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::app {

/// The version, and the commit of the sources; "" where they were no clone. cmake/RieszCommit.cmake writes
/// both.
extern const char* const kVersion;
extern const char* const kCommit;

/// The program's version and commit, and what it runs on: LibTorch, MPI, transports. A line each. Local; may
/// be called before MPI starts.
std::string version_text();

}  // namespace riesz::app
