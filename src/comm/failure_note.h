// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

namespace riesz {

/// Sets a note that `end_job` prints below its text, such as which checkpoint the program can resume from.
/// {}: no note, as at first. `words` is called on any thread, while all other threads run.
void set_failure_note(std::function<std::string()> words);

}  // namespace riesz
