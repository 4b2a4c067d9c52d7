#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the pages name files that there are (argument: the tree's root).

A relative link of a page of the tree or of docs/ leads to a file and, where it names one, to a heading of that page. So does
a path in backticks, such as `src/nn/module.h` or `riesz/nn/module.h`, and a page that a source names, such as docs/a/b.md.
docs/README.md, the index, links to every page below docs/.
"""

import os
import re
import sys

import sources

LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`((?:%s|docs|app|riesz)/[\w./-]+\.\w+)`" % "|".join(sources.FOLDERS))
NAMED = re.compile(r"\bdocs/[\w./-]+\.md\b")
CODE = re.compile(r"^```.*?^```$", re.M | re.S)


def pages(root):
    found = sorted(name for name in os.listdir(root) if name.endswith(".md"))
    return found + sources.files(root, (".md",), ("docs",))


def headings(text):
    """What a link may name after its #, as GitHub makes it of each heading."""
    lines = re.findall(r"^#+ (.*)$", CODE.sub("", text), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "", line).lower()).replace(" ", "-") for line in lines}


def source_of(name):
    """Where a header lies that is included as riesz/<room>/<file>.h."""
    parts = name.split("/")
    if parts[0] != "riesz" or len(parts) < 3:
        return name
    folder = {"testing": ["tests", "support"], "models": ["models"], "app": ["app"]}.get(parts[1], ["src", parts[1]])
    return os.path.join(*folder, *parts[2:])


def not_in_index(root):
    """The pages below docs/ to which the index has no link."""
    index = os.path.join("docs", "README.md")
    if not os.path.exists(os.path.join(root, index)):
        return []
    linked = {os.path.normpath(os.path.join("docs", link)) for link, _ in LINK.findall(sources.read(root, index))}
    return [page for page in sources.files(root, (".md",), ("docs",)) if page != index and page not in linked]


def check(root):
    """All violations, each one line."""
    for page in not_in_index(root):
        yield f"{page}: docs/README.md, the index, does not link to it"
    for page in pages(root):
        text = sources.read(root, page)
        for link, heading in LINK.findall(CODE.sub("", text)):
            target = os.path.normpath(os.path.join(os.path.dirname(page), link)) if link else page
            if not os.path.exists(os.path.join(root, target)):
                yield f"{page}: it links to {link}, which is not there"
            elif heading and heading not in headings(sources.read(root, target)):
                yield f"{page}: it links to {link}#{heading}, a heading that is not there"
        for path in PATH.findall(text):
            if not os.path.exists(os.path.join(root, source_of(path))):
                yield f"{page}: it names {path}, which is not there"
    for source in sources.files(root):
        for path in NAMED.findall("" if source.startswith(os.path.join("tests", "hygiene")) else sources.read(root, source)):
            if not os.path.exists(os.path.join(root, path)):
                yield f"{source}: it names {path}, which is not there"


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "every file that a page names is there")
    sys.exit(1 if found else 0)
