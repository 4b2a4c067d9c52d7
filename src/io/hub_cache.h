// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>

namespace riesz {

/// Where Hugging Face's libraries keep the models that they fetch: HF_HUB_CACHE, else hub in HF_HOME, else
/// huggingface/hub in XDG_CACHE_HOME or in .cache at home.
std::filesystem::path hub_cache();

/// The folder of a model: the path itself if it is a folder; else the folder in `hub_cache` for a name such
/// as "org/name", on its branch main. Fetches nothing. Local.
/// @throws Error where there is neither, which says where it looked and how to fetch the model.
std::filesystem::path model_folder(const std::string& folder_or_name);

}  // namespace riesz
