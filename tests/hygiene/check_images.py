#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the images of Docker and of Apptainer are built from the same files (argument: the tree's root).

.dockerignore names with ! what goes into the one, and the first %files of riesz.def what goes into the other. All of it is
there.
"""

import os
import re
import sys

import sources


def of_docker(root):
    """The files and folders; of a pattern its folder."""
    return {re.sub(r"/\*.*", "", line[1:]) for line in sources.read(root, ".dockerignore").splitlines() if line.startswith("!")}


def of_apptainer(root):
    """(file or folder, where it goes to) of the first section."""
    section = re.search(r"^%files\n((?:  .*\n)+)", sources.read(root, "riesz.def"), re.M)
    return [tuple(line.split()) for line in section.group(1).splitlines()] if section else []


def check(root):
    """All violations, each one line."""
    docker, apptainer = of_docker(root), of_apptainer(root)
    taken = {source for source, _ in apptainer}
    for path in sorted(docker - taken):
        yield f"riesz.def: it lacks {path}, which .dockerignore lets into an image"
    for path in sorted(taken - docker):
        yield f"riesz.def: it takes {path}, which .dockerignore keeps out of an image"
    for path, to in apptainer:
        if to != f"/src/{path}":
            yield f"riesz.def: {path} goes to {to}; it belongs to /src/{path}"
    for path in sorted(docker | taken):
        if not os.path.exists(os.path.join(root, path)):
            yield f".dockerignore: there is no {path}"


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "both kinds of image are built from the same files")
    sys.exit(1 if found else 0)
