#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Says where the time of a build and of its tests went.

    where_time_goes.py ROOT BUILD

Prints the ten slowest build steps and the ten slowest test entries, and for each room the seconds of its build steps
and of its test entries beside its budget (tests/budgets.txt). A build step's seconds are those of its last run, by
ninja's log; an entry's those of the last `./run test`, by ctest's JUnit file. Judges nothing: machines differ. A room
over its budget is marked, and what is over on a quiet machine of two cores is to be made cheaper.
"""

import collections
import glob
import os
import re
import sys
import xml.etree.ElementTree as xml

SHOWN = 10


def build_steps(build):
    """Seconds of each output, by ninja's log."""
    steps = {}
    path = os.path.join(build, ".ninja_log")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as log:
            for line in log:
                if line.startswith("#"):
                    continue
                start, end, _, output, command = line.rstrip("\n").split("\t")
                steps[command, start, end] = (output, (int(end) - int(start)) / 1000)
    return dict(steps.values())


def test_entries(build):
    """[(name, seconds)] by ctest's JUnit file."""
    path = os.path.join(build, "tests.xml")
    if not os.path.exists(path):
        return []
    entries = []
    for case in xml.parse(path).getroot().iter("testcase"):
        entries.append((case.get("name"), float(case.get("time", 0))))
    return entries


def folders(build):
    """The folder below tests/ of each entry, which is its room."""
    found = {}
    for path in glob.glob(os.path.join(build, "tests", "*", "CTestTestfile.cmake")):
        with open(path, encoding="utf-8") as file:
            for name in re.findall(r"add_test\(\[=\[(.*?)\]=\]", file.read()):
                found[name] = room_of_folder(os.path.basename(os.path.dirname(path)))
    return found


def room_of_folder(folder):
    return {"support": "testing"}.get(folder, folder)


def room_of_step(output):
    """The room of a build step: src/nn/… and tests/nn/… are nn's; what is precompiled and programs are "other"."""
    match = re.match(r"(?:src|tests)/(\w+)/", output)
    if match:
        return room_of_folder(match.group(1))
    match = re.match(r"(models|app|examples|bench)/", output)
    return match.group(1) if match else "other"


def budgets(root):
    """{room: (build seconds, test seconds)}"""
    table = {}
    with open(os.path.join(root, "tests", "budgets.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                table[words[0]] = (float(words[1]), float(words[2]))
    return table


def sums_by_room(steps, entries, room_of_entry):
    built, tested = collections.Counter(), collections.Counter()
    for output, seconds in steps.items():
        built[room_of_step(output)] += seconds
    for name, seconds in entries:
        tested[room_of_entry.get(name, "other")] += seconds
    return built, tested


def table(root, built, tested):
    """Lines: a room, its seconds and its budgets; a mark where it is over."""
    limits = budgets(root)
    lines = [f"{'room':12}{'build s':>9}{'of':>6}{'tests s':>9}{'of':>6}"]
    for room in sorted(set(limits) | set(built) | set(tested)):
        build_limit, test_limit = limits.get(room, (0, 0))
        over = built[room] > build_limit or tested[room] > test_limit
        lines.append(f"{room:12}{built[room]:9.0f}{build_limit:6.0f}{tested[room]:9.0f}{test_limit:6.0f}"
                     + ("  over its budget" if over else ""))
    limit = [sum(pair[i] for pair in limits.values()) for i in (0, 1)]
    lines.append(f"{'all':12}{sum(built.values()):9.0f}{limit[0]:6.0f}{sum(tested.values()):9.0f}{limit[1]:6.0f}")
    return lines


def main(root, build):
    steps, entries = build_steps(build), test_entries(build)
    for title, rows in (("slowest build steps", steps.items()), ("slowest test entries", entries)):
        print(f"{title}:")
        for name, seconds in sorted(rows, key=lambda row: -row[1])[:SHOWN]:
            print(f"{seconds:8.1f} s  {name}")
    print(*table(root, *sums_by_room(steps, entries, folders(build))), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
