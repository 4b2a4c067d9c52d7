#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""experts.py FOLDER MPIRUN RIESZ CONFIG.toml [key=value ...]: trains a model with experts on an axis of their own, and
goes on from its checkpoint on one worker, and with tensor parallelism. All losses are those of one worker, and so is what
each step's row says of experts. (More layouts are compared in tests/train.)"""

import json
import re
import shutil
import subprocess
import sys

from losses import losses_in

BOUND = 1e-5
EXPERTS = "expert_load", "dropped", "gate_entropy"


def train(job, workers, folder, *words):
    mpirun, riesz, config, *keys = job
    command = [mpirun, "-n", str(workers), riesz, "train", config, *keys, *words, f"output.folder={folder}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def rows_in(folder):
    """The losses, and (step, name) -> number of experts."""
    rows = losses_in(folder)
    with open(f"{folder}/metrics.jsonl", encoding="utf-8") as file:
        for line in map(json.loads, file):
            rows.update({(line["step"], name): line[name] for name in EXPERTS})
    return rows


def compare(name, folder, rows):
    now = rows_in(folder)
    assert now.keys() == rows.keys(), f"{name} has other rows"
    worst = max(abs(now[key] - rows[key]) for key in rows)
    assert worst <= BOUND, f"{name}: differs by {worst:.2e}; the bound is {BOUND:.0e}"
    exact = [key for key in rows if key[1] in ("expert_load", "dropped")]
    assert all(now[key] == rows[key] for key in exact), f"{name}: gates chose otherwise"
    print(f"{name}: the same {len(rows)} numbers")


def main(place, *job):
    shutil.rmtree(place, ignore_errors=True)
    one, apart = f"{place}/one", f"{place}/apart"
    log = train(job, 1, one, "layout.dp=1", "layout.tp=1", "output.progress=log").stderr
    assert re.search(r"^step 6/6  loss [0-9.]+  .*  expert_load [0-9.]+  dropped 0 %  gate_entropy [0-9.]+  ", log, re.M), log
    rows = rows_in(one)
    assert all(rows[step, "expert_load"] >= 1 for step in range(1, 7))
    on_two = ["layout.dp=1", "layout.tp=1", "layout.ep=2"]
    train(job, 2, apart, *on_two, "layout.zero=3", "checkpoint.every=3", "checkpoint.keep=0")
    compare("ep = 2, ZeRO 3", apart, rows)
    shutil.rmtree(f"{apart}/checkpoint-6")
    for name, workers, words in [("then one worker", 1, ["layout.dp=1", "layout.tp=1"]),
                                 ("then tp = 2", 2, ["layout.dp=1", "layout.tp=2"]),
                                 ("then experts like tp", 2, [*on_two, "layout.experts=tp"])]:
        folder = f"{place}/{name}"
        shutil.copytree(apart, folder)
        train(job, workers, folder, *words, "checkpoint.every=3", "checkpoint.keep=0", "--resume")
        compare(name, folder, rows)
    shutil.rmtree(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
