// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/train/config/schema.h"

namespace riesz {

/// The keys of `schema`.
std::vector<Key> all_keys();

namespace detail {

/// The keys of layouts, and the keys that are read where there is a pipeline.
std::vector<Key> layout_keys();
std::vector<Key> pipeline_keys();
std::vector<Key> optimizer_keys();
std::vector<Key> offload_keys();

}  // namespace detail
}  // namespace riesz
