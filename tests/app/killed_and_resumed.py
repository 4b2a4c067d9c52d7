#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""killed_and_resumed.py ROUNDS FOLDER COMMAND [ARGUMENT ...]: a training that is stopped in every way, and resumed.

In each round the job, which saves after every step, goes on from the last checkpoint and loses a rank by SIGKILL at a
moment drawn at random; what it leaves must be whole, and is where the next round begins. Then it goes on without
checkpoints, until a SIGTERM at a moment drawn at random has it save. The losses are those of a job that was never stopped.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from running_job import ranks_of, text_of, wait_until

MANY = 1000000


def checkpoints(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(name[11:]) for name in names if name.startswith("checkpoint-"))


FILES = ["config.json", "generation_config.json", "model.safetensors", "optimizer.safetensors", "state.json",
         "tokenizer.json", "tokenizer_config.json"]


def check_whole(folder, step):
    """All files to their last byte; each ends where its head says."""
    assert sorted(os.listdir(folder)) == FILES, folder
    for name in ("model", "optimizer"):
        with open(f"{folder}/{name}.safetensors", "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(length))
            end = max(tensor["data_offsets"][1] for name, tensor in head.items() if name != "__metadata__")
            assert os.fstat(file.fileno()).st_size == 8 + length + end, file.name
    with open(f"{folder}/state.json", encoding="utf-8") as file:
        assert json.load(file)["step"] == step, folder


def job(command, folder, steps, *words, every=1):
    words = [f"train.steps={steps}", f"checkpoint.every={every}", f"output.folder={folder}", *words]
    return subprocess.Popen([*command, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, start_new_session=True)


def killed(folder, command, draw):
    """The step of the last checkpoint that is left."""
    before = checkpoints(folder)
    with job(command, folder, MANY, *(["--resume"] if before else [])) as running:
        wait_until(running, lambda: checkpoints(folder)[-1:] > before[-1:])
        ranks = ranks_of(running)
        time.sleep(draw.uniform(0, 0.05))
        os.kill(draw.choice(ranks), signal.SIGKILL)
        text, _ = text_of(running, 60)
    assert running.returncode != 0
    if before:
        assert f"goes on after step {before[-1]}, from" in text, text
    left = checkpoints(folder)
    assert left and left[-1:] > before[-1:], (before, left)
    for step in left:
        check_whole(f"{folder}/checkpoint-{step}", step)
    unfinished = [name for name in os.listdir(folder) if name.endswith(".unfinished")]
    print(f"killed after checkpoint-{left[-1]}" + (f", within {unfinished}" if unfinished else ""))
    return left[-1]


def losses(folder):
    with open(f"{folder}/loss.csv", encoding="utf-8") as file:
        return [line.split(",")[:2] for line in file.read().splitlines()[1:]]


def ended(folder, command, draw, step):
    """The step after which a SIGTERM to the command has ended and saved it."""
    with job(command, folder, MANY, "--resume", every=MANY) as running:
        wait_until(running, lambda: int(losses(folder)[-1][0] or 0) > step + 2)
        time.sleep(draw.uniform(0, 0.05))
        running.send_signal(signal.SIGTERM)
        text, _ = text_of(running, 60)
    assert running.returncode == 0, text
    last = int(re.search(rf"^stopped by a signal after step (\d+) of {MANY}$", text, re.MULTILINE)[1])
    assert checkpoints(folder)[-1] == last, (last, checkpoints(folder))
    check_whole(f"{folder}/checkpoint-{last}", last)
    assert f"/checkpoint-{last}\", of step {last}\n" in text, text
    print(f"saved at SIGTERM: checkpoint-{last}")
    return last


def main(rounds, folder, *command):
    shutil.rmtree(folder, ignore_errors=True)
    draw = random.Random(time.time_ns())
    for _ in range(int(rounds)):
        step = killed(f"{folder}/killed", command, draw)
    steps = ended(f"{folder}/killed", command, draw, step) + 3
    for name, words in (("killed", ["--resume"]), ("whole", [])):
        with job(command, f"{folder}/{name}", steps, *words, every=MANY) as running:
            text, _ = text_of(running, 120)
        assert running.returncode == 0, text
    assert losses(f"{folder}/killed") == losses(f"{folder}/whole") and len(losses(f"{folder}/whole")) == steps
    print(f"the same losses of {steps} steps")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
