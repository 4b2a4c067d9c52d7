// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Returns 0 if a process may read the memory of its sibling here, as Open MPI does to copy a message once;
// containers often forbid it, and Open MPI notices too late.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  int value = 7, ready[2];
  if (pipe(ready) != 0) return 1;
  const pid_t owner = fork();
  if (owner == 0) {
    value = 42;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (write(ready[1], "x", 1) != 1) return 1;
    pause();
  }
  char byte;
  if (owner < 0 || read(ready[0], &byte, 1) != 1) return 1;
  const pid_t reader = fork();
  if (reader == 0) {
    int seen = 0;
    const iovec here{&seen, sizeof seen}, there{&value, sizeof value};
    return process_vm_readv(owner, &here, 1, &there, 1, 0) == sizeof seen && seen == 42 ? 0 : 1;
  }
  int status = 1;
  waitpid(reader, &status, 0);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
