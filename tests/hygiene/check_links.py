#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the pages name files that there are (argument: the tree's root).

A relative link of README.md or docs/ leads to a file, and so does a path in backticks, such as `src/nn/module.h` or
`riesz/nn/module.h`.
"""

import os
import re
import sys

import sources

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:%s|docs|app|riesz)/[\w./-]+\.\w+)`" % "|".join(sources.FOLDERS))


def pages(root):
    folder = os.path.join(root, "docs")
    below = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found = ["README.md"] + [os.path.join("docs", name) for name in below if name.endswith(".md")]
    return [page for page in found if os.path.exists(os.path.join(root, page))]


def source_of(name):
    """Where a header lies that is included as riesz/<room>/<file>.h."""
    parts = name.split("/")
    if parts[0] != "riesz" or len(parts) < 3:
        return name
    folder = {"testing": ["tests", "support"], "models": ["models"], "app": ["app"]}.get(parts[1], ["src", parts[1]])
    return os.path.join(*folder, *parts[2:])


def check(root):
    """All violations, each one line."""
    for page in pages(root):
        text = sources.read(root, page)
        for link in LINK.findall(text):
            if not os.path.exists(os.path.join(root, os.path.dirname(page), link)):
                yield f"{page}: it links to {link}, which is not there"
        for path in PATH.findall(text):
            if not os.path.exists(os.path.join(root, source_of(path))):
                yield f"{page}: it names {path}, which is not there"


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "every file that a page names is there")
    sys.exit(1 if found else 0)
