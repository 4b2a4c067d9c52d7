// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz::models {

/// What the labels of a classifier of images are called by the text of its config.json, in the order of their
/// numbers: id2label's names; LABEL_0, LABEL_1 … where it has none. Local.
/// @throws Error naming the number that id2label leaves out; as `vit_config`.
std::vector<std::string> label_names(const std::string& config_json);

}  // namespace riesz::models
