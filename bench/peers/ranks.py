# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""How a peer's ranks are started, each bound to a core and with one thread, and what is measured of them."""
import ctypes
import gc
import os
import re
import socket
import statistics
import subprocess
import sys
import time

LOCAL = "127.0.0.1"


def is_rank():
    return "RANK" in os.environ


def start(ranks):
    """This program again, once for each rank."""
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        port = free.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": LOCAL, "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    running = []
    for rank in range(ranks):
        core = cores[rank % len(cores)]
        environment = os.environ | common | {"RANK": str(rank)}
        running.append(subprocess.Popen([sys.executable, *sys.argv], env=environment,
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


def status_mebibytes(line):
    """VmRSS, the memory of this process, or VmHWM, the most that it has had."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(rf"^{line}:\s+(\d+) kB$", file.read(), re.MULTILINE).group(1)) / 1024


def begin_memory():
    """What there is. From now on the most is of what comes; freed pages are given back before, by jemalloc."""
    gc.collect()
    purge = getattr(ctypes.CDLL(None), "mallctl", None)
    if purge is not None:
        purge(b"arena.4096.purge", None, None, None, 0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return status_mebibytes("VmRSS")


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
