#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every source is built and every public header installed (argument: the tree's root).

A .cpp file is named in the nearest CMakeLists.txt, and so is a header of a room below src/ or of models,
unless only its own room includes it. What a public header or an example includes, which users compile, is
named there among HEADERS, which are installed.
"""

import os
import re
import sys

import sources


def listed(root, path):
    """Is the file, or its name without the ending, a word of the nearest CMakeLists.txt above it?"""
    folder = os.path.dirname(path)
    while folder and not os.path.exists(os.path.join(root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    lists = os.path.join(folder, "CMakeLists.txt")
    if not os.path.exists(os.path.join(root, lists)):
        return False
    words = re.findall(r"[\w./-]+", sources.read(root, lists))
    name = os.path.relpath(path, folder or ".")
    return name in words or os.path.splitext(name)[0] in words


def public_headers(root):
    """The headers of all rooms that are installed, as riesz/<room>/[<folder>/]<file>.h: those after HEADERS."""
    found = set()
    for path in sources.files(root, ("CMakeLists.txt",)):
        room = sources.room_of(path)
        for words in re.findall(r"\bHEADERS\s+((?:[\w/-]+\.h\s+)+)", sources.read(root, path) + " "):
            found |= {f"riesz/{room}/{word}" for word in words.split()}
    return found


def check_public(root, paths):
    """Users compile public headers and examples, from what is installed."""
    installed = public_headers(root)
    for path in paths:
        room = sources.room_of(path)
        ours = f"riesz/{room}/{sources.place_in_room(path)}" in installed
        if not ours and not path.startswith("examples" + os.sep):
            continue
        for _, name in sources.includes(sources.read(root, path)):
            if name.startswith("riesz/") and name.count("/") > 1 and name not in installed:
                yield f"{path}: it is for users, but includes {name}, which is not installed"


def included_from_elsewhere(root, paths):
    """The headers, riesz/<room>/[<folder>/]<file>.h, that a file of another room includes."""
    seen = set()
    for path in paths:
        room = sources.room_of(path)
        for _, name in sources.includes(sources.read(root, path)):
            parts = name.split("/")
            if len(parts) in (3, 4) and parts[1] != room:
                seen.add(name)
    return seen


def check(root):
    """All violations, each one line."""
    paths = sources.files(root, sources.CODE, ("src", "models", "app", "tests", "bench", "examples"))
    yield from check_public(root, paths)
    public = included_from_elsewhere(root, [path for path in paths if sources.room_of(path)])
    for path in paths:
        room = sources.room_of(path)
        if listed(root, path):
            continue
        if path.endswith(".cpp"):
            yield f"{path}: the nearest CMakeLists.txt does not name it, so it is not built"
        elif room not in (None, "app") and f"riesz/{room}/{sources.place_in_room(path)}" in public:
            yield f"{path}: other rooms include it, but the nearest CMakeLists.txt does not name it"


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "every source is built")
    sys.exit(1 if found else 0)
