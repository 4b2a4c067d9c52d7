#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""refusals.py FOLDER MANY {--refusal NAME --says RULE... --words WORD...}...: what `riesz` says about bad input.

Each RULE is found in one place of what it prints, and who says it is named once. Nothing is left behind. MANY is
many_command_lines; a training's folder of results is FOLDER/NAME.
"""

import os
import re
import shutil
import sys

from command_lines import CommandLines


def read(words):
    """[(name, rules, words of riesz)]"""
    refusals = []
    for word in words:
        if word == "--refusal":
            refusals.append(([], [], []))
        elif word in ("--says", "--words"):
            part = 1 if word == "--says" else 2
            continue
        else:
            refusals[-1][part].append(word)
            continue
        part = 0
    return [(name, rules, of_riesz) for (name,), rules, of_riesz in refusals]


def faults(done, rules, folder):
    """What is wrong with how it has ended."""
    said = done.stdout + done.stderr
    if done.returncode not in (2, 71):
        yield f"ended with {done.returncode}"
    for rule in [*rules, r"^(riesz: |\[rank 0 of 1\] )"]:
        if len(re.findall(rule, said, re.M)) != 1:
            yield f"printed {said!r}, which has not one {rule!r}"
    if os.path.exists(folder):
        yield f"left {folder} behind"


def main(folder, program, *words):
    shutil.rmtree(folder, ignore_errors=True)
    lines, wrong = CommandLines(program), 0
    for name, rules, of_riesz in read(words):
        results = os.path.join(folder, name)
        done = lines.run(*of_riesz, *([f"output.folder={results}"] if of_riesz[0] == "train" else []))
        for fault in faults(done, rules, results):
            print(f"{name}: {fault}")
            wrong += 1
    lines.end()
    if wrong:
        sys.exit(1)
    print("all are refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
