#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""same_losses.py MPIRUN RIESZ CONFIG.toml [key=value ...]: trains at layouts of 1 to 8 workers and compares. (2.5d, and
dp or tp alone, are compared without the program, in tests/models.)

Every row's losses must agree with those of one worker: |a - b| <= 1e-5, in fp32.
"""

import subprocess
import sys
import tempfile

from losses import losses_in

LAYOUTS = {  # workers of each, and the words that make it
    "one worker": (1, []),
    "dp = 2, tp = 2": (4, ["layout.dp=2", "layout.tp=2"]),
    "sp, tp = 3": (3, ["layout.tp=3", "layout.tensor=sp"]),
    "2d, tp = 4": (4, ["layout.tp=4", "layout.tensor=2d"]),
    "3d, tp = 8": (8, ["layout.tp=8", "layout.tensor=3d"]),
    "ring, sp = 2, tp = 2": (4, ["layout.tp=2", "layout.sp=2", "layout.sequence=ring"]),
    "ulysses, sp = 3": (3, ["layout.sp=3", "layout.sequence=ulysses"]),
    "pp = 3, 2 parts": (3, ["layout.pp=3", "pipeline.schedule=zb_h1", "train.micro_batches=2"]),
    "pp = 2, dp = 2, ZeRO 3": (4, ["layout.pp=2", "layout.dp=2", "layout.zero=3", "pipeline.schedule=interleaved"]),
    "pp = 2, comes back": (2, ["layout.pp=2", "pipeline.schedule=gpipe", "pipeline.partition=names",
                               "pipeline.names=transformer.h.[0-1]=1"]),
    "pp = 2, sp, tp = 2, V": (4, ["layout.pp=2", "layout.tp=2", "layout.tensor=sp", "pipeline.schedule=zb_v"]),
}
BOUND = 1e-5


def losses(mpirun, riesz, config, words, layout, folder):
    """Those of one run, as `losses_in` gives them."""
    workers, keys = LAYOUTS[layout]
    words = [*words, "layout.dp=1", "layout.tp=1", *keys, f"output.folder={folder}"]
    subprocess.run([mpirun, "-n", str(workers), riesz, "train", config, *words],
                   check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return losses_in(folder)


def main(mpirun, riesz, config, *words):
    with tempfile.TemporaryDirectory() as place:
        runs = [losses(mpirun, riesz, config, words, layout, f"{place}/{i}") for i, layout in enumerate(LAYOUTS)]
    worst = 0.0
    print("layout                  steps  first loss   last loss    max |difference|")
    for layout, run in zip(LAYOUTS, runs):
        steps = sorted(step for step, column in run if column == "loss")
        assert run.keys() == runs[0].keys() and steps, "the runs have other rows"
        difference = max(abs(run[key] - runs[0][key]) for key in run)
        worst = max(worst, difference)
        print(f"{layout:22}  {len(steps):5}  {run[steps[0], 'loss']:.8f}   {run[steps[-1], 'loss']:.8f}   {difference:.2e}")
    if worst > BOUND:
        sys.exit(f"the losses differ by {worst:.2e}; the bound is {BOUND:.0e}")
    print("the same losses at every layout")


if __name__ == "__main__":
    main(*sys.argv[1:])
