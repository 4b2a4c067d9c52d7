#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the includes of a tree (argument: its root).

Rooms include only downward (cmake/rooms.txt); only comm includes mpi.h or nccl.h; nothing in a room includes
all of torch; a public header includes of LibTorch only ATen/core/Tensor.h; a source includes its own header
first, which proves that the header compiles alone; a file that calls an operation at::name includes
ATen/ops/name.h itself, for the precompiled headers would hide that it does not.
"""

import os
import re
import sys

import sources

UMBRELLAS = {"torch/torch.h", "torch/all.h", "torch/extension.h", "ATen/ATen.h"}
TRANSPORTS = {"mpi.h", "nccl.h"}


def check_rooms(path, room, included, table):
    for _, name in included:
        parts = name.split("/")
        if parts[0] != "riesz":
            continue
        if len(parts) not in (3, 4) or parts[1] not in table:
            yield f"{path}: {name} is not riesz/<room>/[<folder>/]<file>.h of a room in cmake/rooms.txt"
        elif parts[1] != room and parts[1] not in table[room]:
            yield f"{path}: {room} may not include {name}; it may use: {' '.join(sorted(table[room])) or 'no room'}"


def check_others(path, room, included):
    for quote, name in included:
        if name in TRANSPORTS and room != "comm":
            yield f"{path}: only comm includes {name}"
        if name in UMBRELLAS and room != "testing":
            yield f"{path}: {name} is slow to compile; include ATen/core/Tensor.h and ATen/ops/<name>.h"
        if quote == '"' and not name.startswith("riesz/"):
            yield f'{path}: "{name}" must be included as riesz/<room>/[<folder>/]<file>.h'
        if (path.endswith(".h") and room != "testing" and name.startswith(("ATen/", "c10/", "torch/"))
                and name != "ATen/core/Tensor.h"):
            yield f"{path}: a public header includes of LibTorch only ATen/core/Tensor.h, not {name}"


def check_own_header(root, path, room, included):
    header = os.path.splitext(path)[0] + ".h"
    if not path.endswith(".cpp") or not os.path.exists(os.path.join(root, header)):
        return
    own = f"riesz/{room}/{sources.place_in_room(header)}"
    if not included or included[0][1] != own:
        yield f"{path}: its first include must be {own}, so that the header is compiled alone"


def operations(text):
    """The operations whose headers a text includes."""
    return set(re.findall(r"#include <ATen/ops/(\w+)\.h>", text))


def check_operations(root):
    """What is called must be included; an operation is known by whoever includes it."""
    texts = {path: sources.read(root, path) for path in sources.files(root, sources.CODE)}
    known = set().union(*(operations(text) for text in texts.values()))
    for path, text in texts.items():
        called = set(re.findall(r"\bat::(\w+)\(", re.sub(r"//.*", "", text)))
        for name in sorted((called & known) - operations(text)):
            yield f"{path}: it calls at::{name} and must include <ATen/ops/{name}.h> itself"


def check(root):
    """All violations, each one line."""
    table = sources.rooms(root)
    yield from check_operations(root)
    for path in sources.files(root, sources.CODE):
        room = sources.room_of(path)
        if room is None:
            continue
        if room not in table:
            yield f"{path}: {room} is not a room of cmake/rooms.txt"
            continue
        included = sources.includes(sources.read(root, path))
        yield from check_rooms(path, room, included, table)
        yield from check_others(path, room, included)
        yield from check_own_header(root, path, room, included)


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "includes go only downward")
    sys.exit(1 if found else 0)
