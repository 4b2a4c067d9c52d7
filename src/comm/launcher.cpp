// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/launcher.h"

#include <mpi.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace riesz {

std::optional<int> launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    int rank = 0;
    if (std::from_chars(text, text + std::strlen(text), rank).ec == std::errc()) return rank;
  }
  return std::nullopt;
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace riesz
