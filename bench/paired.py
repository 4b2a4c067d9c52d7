#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs two commands in turn, A B A B …, reads "UNIT/s N" from each, and prints the ratio A/B pair by pair.

    bench/paired.py [--pairs 7] 'COMMAND A' 'COMMAND B'

These machines are noisy and drift, so only ratios of neighbouring runs are worth quoting: median and spread.
"""
import argparse
import re
import shlex
import statistics
import subprocess


def rate(command):
    run = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    found = re.search(r"^\S+/s ([0-9.]+)$", run.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(f"no line 'UNIT/s N' from: {command}\n{run.stdout}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("a")
    parser.add_argument("b")
    arguments = parser.parse_args()
    pairs = []
    for i in range(arguments.pairs):
        first, second = (arguments.a, arguments.b) if i % 2 == 0 else (arguments.b, arguments.a)
        rates = {first: rate(first)}
        rates[second] = rate(second)
        pairs.append((rates[arguments.a], rates[arguments.b]))
    ratios = sorted(a / b for a, b in pairs)
    print(f"A  median {statistics.median(a for a, _ in pairs):.0f} a second   {arguments.a}")
    print(f"B  median {statistics.median(b for _, b in pairs):.0f} a second   {arguments.b}")
    print(f"A/B median {statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}, {len(ratios)} pairs")


if __name__ == "__main__":
    main()
