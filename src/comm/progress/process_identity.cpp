// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace riesz {
namespace {

/// A process as /proc shows it; state '-' where it says nothing.
struct ProcessState {
  char state = '-';
  std::int64_t born = -1;
};

ProcessState process_state_of(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name before may have spaces
  ProcessState process_state;
  fields >> process_state.state;
  std::string field;
  for (int i = 4; i <= 22 && fields >> field; ++i) {
    if (i == 22) process_state.born = std::stoll(field);
  }
  return process_state;
}

}  // namespace

ProcessIdentity this_process() {
  struct stat status {};
  const bool known = stat("/proc/self/ns/pid", &status) == 0;
  const int number = static_cast<int>(getpid());
  return {number, known ? static_cast<std::int64_t>(status.st_ino) : 0, process_state_of(number).born};
}

bool sees(const ProcessIdentity& me, const ProcessIdentity& process) {
  return process.born >= 0 && process.namespace_of_numbers == me.namespace_of_numbers &&
         process_state_of(process.number).born == process.born;
}

const char* state_of(const ProcessIdentity& process) {
  const ProcessState now = process_state_of(process.number);
  if (now.born != process.born || now.state == 'Z') return "gone";  // its number may be another's by now
  return now.state == 'T' || now.state == 't' ? "stopped" : "";
}

}  // namespace riesz
