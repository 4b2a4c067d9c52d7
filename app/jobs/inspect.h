// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/app/jobs/form.h"

namespace riesz::app {

/// The tensors of a safetensors file, an index, or all of a folder, such as a checkpoint: names, types,
/// shapes, sizes and sums, a line each. @throws Error where there is none, or a file is broken.
std::string inspect_report(const std::string& path, Form form = Form::text);

/// How the tensors of two such paths differ: those that only one has, of another type or shape, or of other
/// values, with the greatest difference; and how many are the same.
std::string difference_report(const std::string& one, const std::string& other, Form form = Form::text);

}  // namespace riesz::app
