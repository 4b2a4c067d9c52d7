// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// How many bytes this process reads from files.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

namespace riesz::testing {

/// The bytes that `f` reads, by the kernel's count; the least of three calls, for another thread may read
/// too.
inline std::int64_t bytes_read(const std::function<void()>& f) {
  std::int64_t looked = 0;  // what looking itself reads
  const auto count = [&looked] {
    char text[512] = {};
    const int file = ::open("/proc/self/io", O_RDONLY);
    looked = ::read(file, text, sizeof text - 1);
    ::close(file);
    return std::atoll(text + std::string("rchar: ").size());
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 3; ++i) {
    const std::int64_t before = count() + looked;
    f();
    least = std::min<std::int64_t>(least, count() - before);
  }
  return least;
}

}  // namespace riesz::testing
