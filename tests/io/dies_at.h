// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace riesz::testing {

/// From now on this process kills itself, as SIGKILL does, at the n-th call (from 0) of the system that
/// changes files: write at a place, truncate, sync, rename, remove, make a folder. Of a write the first half
/// is done. The program of these tests has such calls of its own in place of the C library's.
void die_at(int n);
/// How many there have been since.
int calls_so_far();

/// The paths of the files and folders that were synced while `does` ran, in order.
std::vector<std::string> synced_by(const std::function<void()>& does);

}  // namespace riesz::testing
