// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/lock_holder.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

constexpr const char* kBehindName = ", started at ";

/// The clock ticks from boot to the process's start; "" where there is no such process.
std::string start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // a program's name may have spaces
  if (name_end == std::string::npos) return "";
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kStart = 20;  // the 22nd of the line
  for (int i = 0; i < kStart; ++i) fields >> field;
  return field;
}

/// The boot of this host and the namespace of this process's number.
std::string where_numbers_mean() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::error_code error;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

}  // namespace

std::string lock_holder() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string pid = std::to_string(::getpid());
  return concat("process ", pid, " on ", host.data(), kBehindName, start_of(pid), " of boot ",
                where_numbers_mean());
}

std::string name_of_holder(const std::string& line) {
  return line.empty() ? "another process" : line.substr(0, line.find(kBehindName));
}

bool is_gone(const std::string& line) {
  const std::size_t details = line.find(kBehindName);
  if (details == std::string::npos) return false;
  std::istringstream name(line), rest(line.substr(details + std::string(kBehindName).size()));
  std::string word, pid, start, of, boot, id, space;
  name >> word >> pid;
  rest >> start >> of >> boot >> id >> space;
  if (start.empty() || space.empty() || id + " " + space != where_numbers_mean()) return false;
  return start_of(pid) != start;
}

}  // namespace riesz
