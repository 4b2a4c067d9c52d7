// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

namespace riesz {

/// Sets the failure note: a text that `end_job` prints below its own, such as the checkpoint from which the
/// program can resume. `words` returns the text. It may be called on any thread, while all other threads run.
/// An empty function, as at first: no note.
void set_failure_note(std::function<std::string()> words);

}  // namespace riesz
