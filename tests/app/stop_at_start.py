#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""stop_at_start.py FOLDER COMMAND [ARGUMENT ...]: a training of very many steps that is sent a signal as it starts.

The command ends, whenever that comes: before its launcher runs, before there are ranks, or while they start.
"""

import signal
import subprocess
import sys
import time

from running_job import text_of

DELAYS = [0, 20, 50, 100, 200, 300, 500]  # in milliseconds


def main(folder, *command):
    for i, delay in enumerate(DELAYS):
        number = [signal.SIGINT, signal.SIGTERM][i % 2]
        words = [*command, f"output.folder={folder}/{delay}"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as job:
            time.sleep(delay / 1000)
            job.send_signal(number)
            _, said = text_of(job, 120)
        # Ended by the signal itself, or by what the launcher made of it.
        # At SIGTERM a training that has begun by then ends well.
        statuses = (-number, 128 + number, *([0] if number == signal.SIGTERM else []))
        assert job.returncode in statuses, f"returned {job.returncode} after {delay} ms, and said {said}"
        assert job.returncode <= 0 or said.count(f"it was stopped by {number.name}") == 1, said
        print(f"{number.name} after {delay} ms ended it")
    subprocess.run(["rm", "-rf", folder], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
