# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The sources of a tree, and the rooms they belong to."""

import os
import re

FOLDERS = ("src", "models", "app", "tests", "bench", "examples", "cmake", "scripts")
CODE = (".h", ".cpp", ".cu")
TEXT = CODE + (".cmake", ".txt", ".sh", ".py", ".in")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def files(root, endings=TEXT, folders=FOLDERS):
    """Paths, relative to root, of the files with one of the endings, in order."""
    found = []
    for folder in folders:
        for place, folders_below, names in os.walk(os.path.join(root, folder)):
            folders_below[:] = sorted(name for name in folders_below if name != "__pycache__")
            found += [os.path.relpath(os.path.join(place, n), root) for n in sorted(names) if n.endswith(endings)]
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def room_of(path):
    """The room a file belongs to, None outside all rooms."""
    parts = path.split(os.sep)
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[0] in ("models", "app"):
        return parts[0]
    if parts[:2] == ["tests", "support"]:
        return "testing"
    return None


def place_in_room(path):
    """A file's path below its room, such as linear.h or layers/linear.h."""
    above = {"src": 2, "tests": 2}.get(path.split(os.sep)[0], 1)
    return "/".join(path.split(os.sep)[above:])


def rooms(root):
    """The table cmake/rooms.txt: each room with the set of those it may use."""
    lines = (line.split("#")[0].strip() for line in read(root, "cmake/rooms.txt").splitlines())
    return {name: set(may_use.split()) for name, may_use in (line.split(":") for line in lines if line)}


def includes(text):
    """(quote, name) of every include, in order."""
    return INCLUDE.findall(text)
