// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mutants.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "riesz/comm/error.h"

namespace riesz::testing {
namespace {

/// One change.
std::string changed(std::string bytes, const MutatedFormat& format, Draws& draws) {
  const auto place = [&](std::size_t from) {
    return from >= bytes.size() ? bytes.size()
                                : from + static_cast<std::size_t>(draws.below(bytes.size() - from));
  };
  const auto word = [&] { return format.words[draws.below(format.words.size())]; };
  const std::size_t at = place(draws.below(20) == 0 ? 0 : format.seldom);
  switch (draws.below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(draws.below(256));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.below(8)));
      break;
    case 2:
      bytes.erase(at, 1 + draws.below(9));
      break;
    case 3:
      bytes.insert(at, word());
      break;
    case 4: {
      const std::string other = word();
      bytes.replace(at, std::min(other.size(), bytes.size() - at), other);
      break;
    }
    case 5:
      bytes.insert(at, bytes.substr(place(format.seldom), 1 + draws.below(60)));
      break;
    default:
      bytes.resize(draws.below(bytes.size() + 40), 'x');
  }
  return bytes;
}

/// "" if all is well; what was read is counted.
std::string judge(const MutatedFormat& format, const std::filesystem::path& path, std::int64_t bytes,
                  int& read) try {
  std::string wrong = format.read(path, bytes);
  if (wrong.empty()) ++read;
  return wrong;
} catch (const Error& error) {
  const std::string said = error.what();
  return said.find(path.filename().string()) == std::string::npos
             ? "the message does not name the file: " + said
             : "";
}

}  // namespace

int read_mutants(const MutatedFormat& format, int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 1000;
  const std::int64_t first = argc > 2 ? std::atoll(argv[2]) : 0;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mutant-" + std::to_string(::getpid()) + format.ending);
  int read = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    Draws draws(1, "mutants" + format.ending, static_cast<std::uint64_t>(i));
    std::string bytes = format.original(draws);
    for (std::uint64_t changes = 1 + draws.below(4); changes > 0; --changes)
      bytes = changed(bytes, format, draws);
    if (format.repair) format.repair(bytes, draws);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const std::string wrong = judge(format, path, static_cast<std::int64_t>(bytes.size()), read);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "mutant %lld: %s\n", static_cast<long long>(i), wrong.c_str());
    return 1;
  }
  std::filesystem::remove(path);
  std::printf("%lld damaged files: %d read whole, the others refused\n", static_cast<long long>(count), read);
  return 0;
}

}  // namespace riesz::testing
