// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

namespace riesz {

/// What `end_job` prints below its text, such as what the program can go on from; {}: nothing, as at first.
/// It is asked on any thread, while all other threads go on.
void set_last_words(std::function<std::string()> words);

}  // namespace riesz
