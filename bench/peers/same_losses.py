#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Do Riesz and its peers train the same model? Starts all from one file of weights and compares their losses.

    bench/peers/same_losses.py BUILD PYTHON [option of both ...]

BUILD is a build folder with the benchmarks, PYTHON what bench/peers/setup.sh prints.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TOLERANCE = 1e-5  # of the loss


def losses(command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return [float(number) for number in re.findall(r"^loss (\S+)$", run.stdout, re.MULTILINE)]


def main():
    build, python, *sizes = sys.argv[1:]
    here = pathlib.Path(__file__).parent
    ours, piped = (pathlib.Path(build) / "bench" / name for name in ("gpt_step", "pipeline_step"))
    two = [pathlib.Path(build) / "mpirun", "-n", "2"]
    options = ["--losses", "--steps", "5", *sizes]
    with tempfile.TemporaryDirectory() as folder:
        weights = pathlib.Path(folder) / "weights.pt"

        def peer(name):
            return [python, here / f"gpt_{name}.py", "--load", weights, *options]

        runs = {"plain LibTorch": [ours, "--plain", "--save", weights, *options],
                "Riesz": [ours, *options],
                "Riesz, dp = 2": [*two, ours, "--dp", "2", *options],
                "Riesz, tp = 2": [*two, ours, "--tp", "2", *options]}
        runs |= {f"DTensor, {layout}": [*peer("dtensor"), "--layout", layout] for layout in ("plain", "tp", "sp")}
        runs |= {"DDP": peer("ddp"), "FSDP2": peer("fsdp")}
        for schedule, name in (("gpipe", "gpipe"), ("1f1b", "one_f_one_b")):
            runs[f"Riesz, {schedule}"] = [*two, piped, "--schedule", name, *options]
            runs[f"pipelining, {schedule}"] = [*peer("pipelining"), "--schedule", schedule]
        curves = {name: losses(command) for name, command in runs.items()}
    first = curves["plain LibTorch"]
    worst = 0.0
    for name, curve in curves.items():
        apart = max(abs(a - b) / b for a, b in zip(curve, first, strict=True))
        worst = max(worst, apart)
        print(f"{name:17} {' '.join(f'{loss:.6f}' for loss in curve)}   off by {apart:.1e}")
    raise SystemExit(len(first) == 0 or worst > TOLERANCE)


if __name__ == "__main__":
    main()
