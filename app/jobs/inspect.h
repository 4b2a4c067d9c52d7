// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/app/jobs/form.h"

namespace riesz::app {

/// Lists the tensors of a safetensors file, an index, or a whole folder such as a checkpoint. Each line has a
/// name, type, shape, size and sums. @throws Error where there is none, or a file is broken.
std::string inspect_report(const std::string& path, Form form = Form::text);

/// Compares the tensors of two such paths. It lists tensors that only one has, that differ in type or shape,
/// or in values, with the greatest difference; and how many are equal.
std::string difference_report(const std::string& one, const std::string& other, Form form = Form::text);

}  // namespace riesz::app
