# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a peer's ranks are started, each bound to a core and with one thread, and what is measured of them."""
import os
import re
import socket
import statistics
import subprocess
import sys
import time

LOCAL = "127.0.0.1"
IDLE = "PEER_IDLE_MIB"


def is_rank():
    return "RANK" in os.environ


def is_idle():
    """Is this rank started only to see what memory it takes beside a model?"""
    return is_rank() and IDLE not in os.environ


def idle():
    """What that was."""
    return float(os.environ[IDLE])


def start(ranks, more=None, output=None):
    """This program again, once for each rank, with `more` in its environment."""
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        port = free.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": LOCAL, "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    running = []
    for rank in range(ranks):
        core = cores[rank % len(cores)]
        environment = os.environ | common | (more or {}) | {"RANK": str(rank)}
        running.append(subprocess.Popen([sys.executable, *sys.argv], env=environment, stdout=output, text=True,
                                        preexec_fn=lambda core=core: os.sched_setaffinity(0, {core})))
    return running


def wait(processes):
    """Returns the first status that is not 0."""
    status = 0
    running = processes
    while running and status == 0:  # one that fails leaves the others waiting
        time.sleep(0.05)
        status = next((p.returncode for p in running if p.poll()), 0)
        running = [p for p in running if p.poll() is None]
    for process in running:
        process.kill()
    return status


def start_measured(ranks):
    """The status of this program's ranks, which know by `idle` what the largest of as many took beside a model."""
    without = start(ranks, output=subprocess.PIPE)
    if wait(without) != 0:
        return 1
    most = max(float(process.stdout.read()) for process in without)
    return wait(start(ranks, {IDLE: str(most)}))


def peak_mebibytes():
    """The most physical memory that this process has had."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB$", file.read(), re.MULTILINE).group(1)) / 1024


def median_seconds(step, steps, each=lambda result: None):
    """Of the steps that count, after three that do not; `each` is given what every one returned."""
    seconds = []
    for number in range(steps + 3):
        begin = time.perf_counter()
        result = step()
        if number >= 3:
            seconds.append(time.perf_counter() - begin)
        each(result)
    return statistics.median(seconds)


def leave():
    """Ends this rank."""
    sys.stdout.flush()
    os._exit(0)  # gloo's threads at times do not survive the interpreter's end
