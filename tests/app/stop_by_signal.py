#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""stop_by_signal.py FOLDER COMMAND [ARGUMENT ...]: a training of very many steps that is sent a signal after a few.

SIGINT goes to the command's process group, as a terminal's Ctrl-C does, twice, and a rank takes longer over its step than
MPI's launcher leaves to ranks that it ends. SIGTERM and SIGUSR1 go to the command alone, as `kill` and batch systems do:
its status is the training's own, 0.
"""

import os
import re
import signal
import subprocess
import sys
import time

from running_job import ranks_of, text_of, wait_until


def rows(folder):
    try:
        with open(f"{folder}/loss.csv", encoding="utf-8") as file:
            return len(file.readlines()) - 1
    except FileNotFoundError:
        return 0


def ctrl_c_twice(job, number):
    rank = ranks_of(job)[0]
    os.kill(rank, signal.SIGSTOP)
    os.killpg(job.pid, number)
    time.sleep(0.1)
    os.killpg(job.pid, number)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        os.kill(rank, signal.SIGSTOP)  # again: the launcher lets those go on that it ends
        time.sleep(0.02)
    os.kill(rank, signal.SIGCONT)


def stopped(folder, command, number, send):
    folder = f"{folder}/{number.name}"
    with subprocess.Popen([*command, f"output.folder={folder}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as job:
        wait_until(job, lambda: rows(folder) >= 3)
        send(job, number)
        text, _ = text_of(job, 60)
    print(text)
    assert job.returncode == (130 if number == signal.SIGINT else 0), f"returned {job.returncode}"
    steps = re.findall(r"^stopped by a signal after step (\d+) of 1000000$", text, re.MULTILINE)
    assert len(steps) == 1, f"{len(steps)} lines say where it stopped"
    assert re.search(rf'^--resume goes on from ".*/checkpoint-{steps[0]}", of step {steps[0]}$', text, re.MULTILINE)
    assert rows(folder) == int(steps[0]), f"{rows(folder)} rows of {steps[0]} steps"
    assert "exact answers, greedily" in text and "each rank held" in text
    files = [f"checkpoint-{steps[0]}", "config.toml", "events.out.tfevents.0.riesz", "loss.csv", "loss.svg", "metrics.jsonl", "report.txt"]
    assert sorted(os.listdir(folder)) == files, os.listdir(folder)
    print(f"{number.name}: ended after its step, with its report")


def main(folder, *command):
    subprocess.run(["rm", "-rf", folder], check=True)
    stopped(folder, command, signal.SIGINT, ctrl_c_twice)
    stopped(folder, command, signal.SIGTERM, subprocess.Popen.send_signal)
    stopped(folder, command, signal.SIGUSR1, subprocess.Popen.send_signal)
    subprocess.run(["rm", "-rf", folder], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
