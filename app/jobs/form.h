// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz::app {

/// How a command prints its result: as text for a person, or as one JSON object for a program.
enum class Form { text, json };

}  // namespace riesz::app
