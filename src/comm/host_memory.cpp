// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/host_memory.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace riesz {
namespace {

namespace fs = std::filesystem;

/// The number that a file holds; nothing where it holds none, such as "max".
std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

/// The numbers of lines such as "inactive_file 4096" and "MemAvailable:  12 kB".
std::map<std::string, std::int64_t> table_in(const fs::path& path) {
  std::map<std::string, std::int64_t> table;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t number = 0;
    if (words >> name >> number) table[name] = number;
  }
  return table;
}

/// The names of a control group's files, and of rows in its memory.stat: of cgroup 1 and of cgroup 2.
struct Names {
  const char* limit;
  const char* used;
  const char* inactive;
  const char* active;
};
constexpr Names kCgroup1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                         "total_active_file"};
constexpr Names kCgroup2{"memory.max", "memory.current", "inactive_file", "active_file"};

/// What this group leaves below its limit; nothing where it has none.
std::optional<std::int64_t> left_in(const fs::path& group, const Names& names) {
  const auto limit = number_in(group / names.limit);
  const auto used = number_in(group / names.used);
  if (!limit || !used) return std::nullopt;
  auto table = table_in(group / "memory.stat");
  return std::max<std::int64_t>(0, *limit - *used + table[names.inactive] + table[names.active]);
}

void lower(std::optional<std::int64_t>& least, const std::optional<std::int64_t>& to) {
  if (to && (!least || *to < *least)) least = to;
}

/// The least that the group of this path, or one above it, leaves.
std::optional<std::int64_t> left_in_groups(const fs::path& mount, const fs::path& path, const Names& names) {
  std::optional<std::int64_t> least;
  for (fs::path group = path.relative_path(); !group.empty(); group = group.parent_path())
    lower(least, left_in(mount / group, names));
  lower(least, left_in(mount, names));
  return least;
}

}  // namespace

std::optional<std::int64_t> available_memory(const fs::path& root) {
  std::optional<std::int64_t> least;
  const auto host = table_in(root / "proc/meminfo");
  if (const auto found = host.find("MemAvailable:"); found != host.end()) least = 1024 * found->second;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controllers.empty()) lower(least, left_in_groups(mount, path, kCgroup2));
    if (controllers == "memory") lower(least, left_in_groups(mount / "memory", path, kCgroup1));
  }
  return least;
}

}  // namespace riesz
