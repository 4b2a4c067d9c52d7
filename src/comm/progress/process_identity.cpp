// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace riesz {

ProcessState process_state(int number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name before may have spaces
  ProcessState now;
  fields >> now.state >> now.parent;
  std::string field;
  for (int i = 5; i <= 22 && fields >> field; ++i) {
    if (i == 22) now.born = std::stoll(field);
  }
  return now;
}

ProcessIdentity this_process() {
  struct stat status {};
  const bool known = stat("/proc/self/ns/pid", &status) == 0;
  const int number = static_cast<int>(getpid());
  return {number, known ? static_cast<std::int64_t>(status.st_ino) : 0, process_state(number).born};
}

bool sees(const ProcessIdentity& me, const ProcessIdentity& process) {
  return process.born >= 0 && process.namespace_of_numbers == me.namespace_of_numbers &&
         process_state(process.number).born == process.born;
}

const char* state_of(const ProcessIdentity& process) {
  const ProcessState now = process_state(process.number);
  if (now.born != process.born || now.gone()) return "gone";  // its number may be another's by now
  return now.stopped() ? "stopped" : "";
}

}  // namespace riesz
