#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""stop_by_signal.py FOLDER COMMAND [ARGUMENT ...]: a training of very many steps that is sent a signal after a few.

SIGINT goes to the command's process group, twice, as from a terminal where Ctrl-C is pressed twice; SIGTERM to the
command alone, as `kill` does.
"""

import os
import re
import signal
import subprocess
import sys
import time


def rows(folder):
    try:
        with open(f"{folder}/loss.csv", encoding="utf-8") as file:
            return len(file.readlines()) - 1
    except FileNotFoundError:
        return 0


def stopped(folder, command, number, send, times):
    folder = f"{folder}/{number.name}"
    with subprocess.Popen([*command, f"output.folder={folder}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, start_new_session=True) as job:
        deadline = time.monotonic() + 60
        while rows(folder) < 3:
            assert time.monotonic() < deadline and job.poll() is None, "the training takes no steps"
            time.sleep(0.05)
        for _ in range(times):
            send(job.pid, number)
            time.sleep(0.1)
        text, _ = job.communicate(timeout=60)
    print(text)
    assert job.returncode == 128 + number, f"returned {job.returncode}"
    steps = re.findall(r"^stopped by a signal after step (\d+) of 1000000$", text, re.MULTILINE)
    assert len(steps) == 1, f"{len(steps)} lines say where it stopped"
    assert rows(folder) == int(steps[0]), f"{rows(folder)} rows of {steps[0]} steps"
    assert "exact answers, greedily" in text and "each rank held" in text
    assert sorted(os.listdir(folder)) == ["config.toml", "loss.csv", "loss.svg", "report.txt"], os.listdir(folder)
    print(f"{number.name}: ended after its step, with its report")


def main(folder, *command):
    subprocess.run(["rm", "-rf", folder], check=True)
    stopped(folder, command, signal.SIGINT, os.killpg, 2)
    stopped(folder, command, signal.SIGTERM, os.kill, 1)
    subprocess.run(["rm", "-rf", folder], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
