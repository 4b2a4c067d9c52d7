#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs two commands in turn, A B A B …, reads "UNIT/s N" from each, and prints the ratio A/B pair by pair.

    bench/paired.py [--pairs 7] [--undisturbed PERCENT] 'COMMAND A' 'COMMAND B'

These machines are noisy and drift, so only ratios of neighbouring runs are worth quoting: median and spread. Where
others compute too, --undisturbed repeats a run until they took at most so much of the processors meanwhile.
"""
import argparse
import os
import re
import resource
import shlex
import statistics
import subprocess
import time


def busy_seconds():
    """Of all processors since the start, but for what this program's children took."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = [int(word) for word in file.readline().split()[1:8]]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK") - children.ru_utime - children.ru_stime


def undisturbed_rate(command, percent):
    while True:
        others, begin = busy_seconds(), time.monotonic()
        found = rate(command)
        share = (busy_seconds() - others) / (time.monotonic() - begin) / os.cpu_count()
        if 100 * share <= percent:
            return found
        time.sleep(5)


def rate(command):
    run = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    found = re.search(r"^\S+/s ([0-9.]+)$", run.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"no line 'UNIT/s N' from: {command}\n{run.stdout}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--undisturbed", type=float, default=100, metavar="PERCENT")
    parser.add_argument("a")
    parser.add_argument("b")
    arguments = parser.parse_args()
    pairs = []
    for i in range(arguments.pairs):
        first, second = (arguments.a, arguments.b) if i % 2 == 0 else (arguments.b, arguments.a)
        rates = {command: undisturbed_rate(command, arguments.undisturbed) for command in (first, second)}
        pairs.append((rates[arguments.a], rates[arguments.b]))
    ratios = sorted(a / b for a, b in pairs)
    print(f"A  median {statistics.median(a for a, _ in pairs):.0f} a second   {arguments.a}")
    print(f"B  median {statistics.median(b for _, b in pairs):.0f} a second   {arguments.b}")
    print(f"A/B median {statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}, {len(ratios)} pairs")


if __name__ == "__main__":
    main()
