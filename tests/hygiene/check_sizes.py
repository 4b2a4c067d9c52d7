#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the sizes of a tree's files (argument: its root); fails if one is over the limit or has no licence."""

import os
import statistics
import sys

import sources

LIMIT = 400
LICENCE = ("SPDX-FileCopyrightText: The Riesz authors", "SPDX-License-Identifier: BSD-3-Clause")


def lines_by_folder(root):
    sizes = {}
    for path in sources.files(root):
        sizes.setdefault(os.path.dirname(path), {})[path] = sources.read(root, path).count("\n")
    return sizes


def table(sizes):
    yield f"{'folder':<24} {'files':>5} {'lines':>6} {'median':>6} {'largest':>7}"
    everything = {path: lines for files in sizes.values() for path, lines in files.items()}
    for folder, files in sorted(sizes.items()) + [("all", everything)]:
        path, largest = max(files.items(), key=lambda item: item[1])
        median = int(statistics.median(files.values()))
        yield f"{folder:<24} {len(files):>5} {sum(files.values()):>6} {median:>6} {largest:>7}  {os.path.basename(path)}"


def check(root):
    """All violations, each one line."""
    for files in lines_by_folder(root).values():
        for path, lines in files.items():
            if lines > LIMIT:
                yield f"{path}: {lines} lines; a file has at most {LIMIT}"
            head = sources.read(root, path)[:300]
            if not all(line in head for line in LICENCE):
                yield f"{path}: it does not begin with the two SPDX lines"


if __name__ == "__main__":
    print("\n".join(table(lines_by_folder(sys.argv[1]))))
    found = list(check(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
