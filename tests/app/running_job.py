# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""A job that is under way: its ranks, and waiting for what it does."""

import subprocess
import time


def ranks_of(job):
    """The processes of the program riesz below that of the job, a Popen."""
    lines = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], stdout=subprocess.PIPE, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in lines.splitlines()]
    below = {str(job.pid)}
    for _ in range(4):
        below |= {process for process, parent, _ in processes if parent in below}
    return [int(process) for process, _, name in processes if process in below and name == "riesz"]


def wait_until(job, happened):
    """Returns once `happened` says so. A job that has ended, or takes longer than a minute, fails with what it printed."""
    deadline = time.monotonic() + 60
    while not happened():
        if time.monotonic() > deadline or job.poll() is not None:
            job.terminate()
            raise AssertionError(job.communicate()[0])
        time.sleep(0.005)
