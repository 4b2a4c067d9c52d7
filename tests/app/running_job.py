# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""A job that is under way: its ranks, and waiting for what it does."""

import os
import subprocess
import time


def slowness():
    """How many times longer than on a quiet machine something takes now, 1 or more; as tests/support/slowness.sh says it."""
    with open("/proc/loadavg", encoding="utf-8") as file:
        running = int(file.read().split()[3].split("/")[0])
    return max(1, running / len(os.sched_getaffinity(0))) * 1.25 ** max(0, os.nice(0))


class Patience:
    """So many seconds of a quiet machine."""

    def __init__(self, seconds):
        self.left = seconds
        self.at = time.monotonic()

    def ends(self):
        now = time.monotonic()
        self.left -= (now - self.at) / slowness()
        self.at = now
        return self.left < 0


def text_of(job, seconds):
    """What a job prints until it ends; one that takes longer than these seconds of a quiet machine is ended, and fails."""
    patience = Patience(seconds)
    while True:
        try:
            return job.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if not patience.ends():
                continue
        for _ in range(3):
            job.terminate()
            time.sleep(0.1)
        raise AssertionError(f"it had not ended after {seconds} seconds: {job.communicate()}")


def ranks_of(job):
    """The processes of the program riesz below that of the job, a Popen."""
    lines = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], stdout=subprocess.PIPE, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in lines.splitlines()]
    below = {str(job.pid)}
    for _ in range(4):
        below |= {process for process, parent, _ in processes if parent in below}
    return [int(process) for process, _, name in processes if process in below and name == "riesz"]


def wait_until(job, happened):
    """Returns once `happened` says so. A job that has ended, or takes longer than a quiet machine's minute, fails with what it printed."""
    patience = Patience(60)
    while not happened():
        if patience.ends() or job.poll() is not None:
            job.terminate()
            raise AssertionError(job.communicate()[0])
        time.sleep(0.005)
