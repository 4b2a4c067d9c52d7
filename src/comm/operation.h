// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

namespace riesz {

/// On whose behalf messages travel: the name under which they are counted, and a text for people.
struct Operation {
  Operation(const char* all) : name(all), text(all) {}
  Operation(std::string all) : name(all), text(std::move(all)) {}
  Operation(std::string counted, std::string shown) : name(std::move(counted)), text(std::move(shown)) {}

  std::string name;
  std::string text;
};

}  // namespace riesz
