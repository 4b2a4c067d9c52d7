// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz::models {

/// The names of the labels of a model of images, in the order of their numbers, from the text of its
/// config.json. They are those of id2label; without it they are LABEL_0, LABEL_1 … Local.
/// @throws Error naming the number that id2label leaves out; as `image_config`.
std::vector<std::string> label_names(const std::string& config_json);

}  // namespace riesz::models
