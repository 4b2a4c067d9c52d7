#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""same_losses.py MPIRUN RIESZ CONFIG.toml [key=value ...]: trains on 1, 2x1, 1x2 and 2x2 workers and compares.

Every row's losses must agree with those of one worker: |a - b| <= 1e-5, in fp32.
"""

import csv
import subprocess
import sys
import tempfile

LAYOUTS = [(1, 1), (2, 1), (1, 2), (2, 2)]
BOUND = 1e-5


def losses(mpirun, riesz, config, words, dp, tp, folder):
    """(step, column) -> number, of the losses of one run."""
    layout = [f"layout.dp={dp}", f"layout.tp={tp}", f"output.folder={folder}"]
    subprocess.run([mpirun, "-n", str(dp * tp), riesz, "train", config, *words, *layout],
                   check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    with open(f"{folder}/loss.csv", encoding="utf-8") as file:
        return {(int(row["step"]), column): float(row[column])
                for row in csv.DictReader(file) for column in ("loss", "held_out_loss") if row[column]}


def main(mpirun, riesz, config, *words):
    with tempfile.TemporaryDirectory() as place:
        runs = [losses(mpirun, riesz, config, words, dp, tp, f"{place}/{dp}x{tp}") for dp, tp in LAYOUTS]
    worst = 0.0
    print("dp x tp  steps  first loss   last loss    max |difference|")
    for (dp, tp), run in zip(LAYOUTS, runs):
        steps = sorted(step for step, column in run if column == "loss")
        assert run.keys() == runs[0].keys() and steps, "the runs have other rows"
        difference = max(abs(run[key] - runs[0][key]) for key in run)
        worst = max(worst, difference)
        print(f"{dp} x {tp}    {len(steps):5}  {run[steps[0], 'loss']:.8f}   {run[steps[-1], 'loss']:.8f}   {difference:.2e}")
    if worst > BOUND:
        sys.exit(f"the losses differ by {worst:.2e}; the bound is {BOUND:.0e}")
    print("the same losses at every layout")


if __name__ == "__main__":
    main(*sys.argv[1:])
