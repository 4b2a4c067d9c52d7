#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""A training step on two ranks beside its peers: one table, of one version of the code, in one run.

    bench/table.py BUILD PYTHON [--rounds 7] [--steps 6] [--width 256 512] [--group NAME ...]

BUILD is a build folder with gpt_step in it, PYTHON the interpreter that bench/peers/setup.sh prints. Programs of one
group run in turn, A B C C B A …, once a round; a row is the median and the spread of the rounds' ratios of two rates; a
rate is that of the slowest rank. Peers allocate by jemalloc, as Riesz does, with its settings. Rows named "mm" let Riesz
multiply by at::mm alone, as its peers do. Memory is the most that a rank had beyond a step of a tiny model, in MiB; of
Riesz with what workers share counted once. Takes some half an hour: nothing else should run.
"""
import argparse
import ctypes.util
import os
import re
import shlex
import statistics
import subprocess


def commands(build, python, steps, width):
    """{name: words} of all that a row may compare."""
    sizes = f"--width {width} --heads 8 --vocabulary 4096 --steps {steps}"
    riesz = f"{build}/mpirun -n 2 --bind-to core {build}/bench/gpt_step {sizes}"
    pipeline = f"{build}/mpirun -n 2 --bind-to core {build}/bench/pipeline_step {sizes} --blocks {BLOCKS[width]}"
    alone = f"{build}/mpirun -n 1 --bind-to core {build}/bench/gpt_step {sizes} --batch 4"
    peers = f"{python} {os.path.dirname(os.path.abspath(__file__))}/peers"
    return {
        "dp": f"{riesz} --dp 2 --zero 0",
        "dp mm": f"{riesz} --dp 2 --zero 0 --mm",
        "dp alone": f"{riesz} --dp 2 --zero 0 --alone",
        "zero": f"{riesz} --dp 2 --zero 3",
        "zero mm": f"{riesz} --dp 2 --zero 3 --mm",
        "zero alone": f"{riesz} --dp 2 --zero 3 --alone",
        "tp": f"{riesz} --tp 2",
        "tp mm": f"{riesz} --tp 2 --mm",
        "tp alone": f"{riesz} --tp 2 --alone",
        "sp": f"{riesz} --tp 2 --tensor sp",
        "sp mm": f"{riesz} --tp 2 --tensor sp --mm",
        "sp alone": f"{riesz} --tp 2 --tensor sp --alone",
        "gpipe": f"{pipeline} --schedule gpipe",
        "gpipe mm": f"{pipeline} --schedule gpipe --mm",
        "1F1B": f"{pipeline} --schedule one_f_one_b",
        "1F1B mm": f"{pipeline} --schedule one_f_one_b --mm",
        "torch gpipe": f"{peers}/gpt_pipelining.py {sizes} --schedule gpipe --blocks {BLOCKS[width]}",
        "torch 1F1B": f"{peers}/gpt_pipelining.py {sizes} --schedule 1f1b --blocks {BLOCKS[width]}",
        "one": alone,
        "one mm": f"{alone} --mm",
        "plain LibTorch": f"{alone} --plain",
        "DDP 4": f"{peers}/gpt_ddp.py {sizes} --bucket-cap-mb 4",
        "DDP 25": f"{peers}/gpt_ddp.py {sizes} --bucket-cap-mb 25",
        "FSDP2": f"{peers}/gpt_fsdp.py {sizes}",
        "DTensor tp": f"{peers}/gpt_dtensor.py {sizes} --layout tp",
        "DTensor sp": f"{peers}/gpt_dtensor.py {sizes} --layout sp",
    }


# Of the two stages of a pipeline, as measured time has it: the head is as much as a block or more.
BLOCKS = {256: "3 1", 512: "2 2"}

GROUPS = {
    "one": [("one", "plain LibTorch"), ("one mm", "plain LibTorch")],
    "dp": [("dp", "dp alone"), ("dp", "DDP 25"), ("dp mm", "DDP 25"), ("DDP 4", "DDP 25")],
    "zero": [("zero", "zero alone"), ("zero", "FSDP2"), ("zero mm", "FSDP2")],
    "tp": [("tp", "tp alone"), ("tp", "DTensor tp"), ("tp mm", "DTensor tp")],
    "pp": [("gpipe", "torch gpipe"), ("gpipe mm", "torch gpipe"), ("1F1B", "torch 1F1B"), ("1F1B mm", "torch 1F1B")],
    "sp": [("sp", "sp alone"), ("sp", "DTensor sp"), ("sp mm", "DTensor sp")],
}


def with_jemalloc():
    """The environment of a peer: Riesz's programs are linked with it and set the same themselves."""
    library = ctypes.util.find_library("jemalloc")
    if library is None:
        raise SystemExit("there is no jemalloc: peers would allocate by another allocator than Riesz")
    return os.environ | {"LD_PRELOAD": library, "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}


def measure(command, peer):
    """A run's (rate, memory); memory is None where the program does not say."""
    run = subprocess.run(shlex.split(command), capture_output=True, text=True, env=with_jemalloc() if peer else None)
    found = re.search(r"^tokens/s ([0-9.]+)$", run.stdout, re.MULTILINE)
    if run.returncode or not found:
        raise SystemExit(f"failed: {command}\n{run.stdout}{run.stderr}")
    memory = re.search(r"^rss MiB ([0-9.]+)(?:, shared memory counted once ([0-9.]+))?$", run.stdout, re.MULTILINE)
    return float(found.group(1)), float(memory.group(2) or memory.group(1)) if memory else None


def measure_group(all_commands, names, rounds):
    """{name: its rates, by round}, {name: its memories}."""
    rates, memories = {name: [] for name in names}, {name: [] for name in names}
    for i in range(rounds):
        for name in names if i % 2 == 0 else reversed(names):
            rate, memory = measure(all_commands[name], name[:2] in ("DD", "FS", "DT", "to"))
            rates[name].append(rate)
            if memory is not None:
                memories[name].append(memory)
    return rates, memories


def row(a, b, rates, memories):
    """A line of the table."""
    ratios = sorted(x / y for x, y in zip(rates[a], rates[b]))
    middle = [f"{statistics.median(rates[name]):.0f}" for name in (a, b)]
    most = [f"{statistics.median(memories[name]):.0f}" if memories[name] else "" for name in (a, b)]
    return (f"| {a} | {b} | {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}) | "
            f"{' / '.join(middle)} | {' / '.join(most)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--width", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("build")
    parser.add_argument("python")
    arguments = parser.parse_args()
    for width in arguments.width:
        print(f"\n{width} wide, {arguments.rounds} rounds, {arguments.steps} steps a run\n")
        print("| A | B | A / B | tokens a second | MiB |\n|---|---|---|---|---|", flush=True)
        every = commands(arguments.build, arguments.python, arguments.steps, width)
        for group in arguments.group:
            names = list(dict.fromkeys(name for pair in GROUPS[group] for name in pair))
            rates, memories = measure_group(every, names, arguments.rounds)
            for a, b in GROUPS[group]:
                print(row(a, b, rates, memories), flush=True)


if __name__ == "__main__":
    main()
