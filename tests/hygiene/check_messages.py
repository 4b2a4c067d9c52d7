#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the messages that pages quote (argument: the tree's root); with --write it writes the page of all errors; with other
arguments it lists the errors that have them.

- docs/reference/all_errors.md: it has every error of the sources, as --write writes it.
- docs/reference/errors.md: each message of its first table is thrown below one of the folders that its row names, and each
  error of the sources is thrown below a folder of some row.
- docs/start/troubleshooting.md: the message with which a row begins is in the sources, but for its values.
"""

import os
import re
import sys

import messages
import sources

ERRORS = os.path.join("docs", "reference", "errors.md")
ALL = os.path.join("docs", "reference", "all_errors.md")
TROUBLE = os.path.join("docs", "start", "troubleshooting.md")
QUOTED = re.compile(r"`([^`]+)`")


HEAD = """# All errors

Find a message in full, with the page that explains it. `…` stands for a value. [Errors](errors.md) says how errors reach a program.

This page is made from the sources: `python3 tests/hygiene/check_messages.py . --write`.
"""


def areas(root):
    """(messages, pages, folders, what they are about) of each row of the first table of the page of errors."""
    table = re.search(r"^\| an error about .*\n\|[-|]+\n((?:\|.*\n)+)", sources.read(root, ERRORS), re.M)
    for row in table.group(1).splitlines() if table else ():
        _, about, quotes, pages, folders, _ = re.split(r"(?<!\\)\|", row)
        yield QUOTED.findall(quotes), pages.strip(), QUOTED.findall(folders), about.strip()


def area_of(path, found):
    """The row that names the nearest folder above a source, or None."""
    above = [(len(folder), row) for row in found for folder in row[2] if path == folder or path.startswith(folder + "/")]
    return max(above, key=lambda one: one[0])[1] if above else None


def has(message, quote):
    """Has a message the quote's words, in order, whatever values stand between them?"""
    at = 0
    for part in quote.split("…"):
        at = message.find(part.strip(" ,"), at)
        if at < 0:
            return False
    return True


def check_errors(root):
    found = list(areas(root))
    if not found:
        yield f"{ERRORS}: it has no table of messages"
    thrown = list(messages.thrown(root))
    for quotes, _, folders, _ in found:
        for folder in folders:
            if not os.path.exists(os.path.join(root, folder)):
                yield f"{ERRORS}: it names {folder}, which is not there"
        here = [text for path, text in thrown if area_of(path, [(quotes, "", folders, "")])]
        for quote in quotes:
            if not any(has(text, quote) for text in here):
                yield f"{ERRORS}: no error below {', '.join(folders)} says `{quote}`"
    for path in sorted({path for path, _ in thrown if not area_of(path, found)}):
        yield f"{ERRORS}: no row of its table has the errors of {path}"


def all_errors(root):
    """The page of all errors: for each row of the page of errors its messages."""
    found = list(areas(root))
    of_row = {row[3]: set() for row in found}
    for path, text in messages.thrown(root):
        row = area_of(path, found)
        if row and len(text.strip(" …")) > 1:
            of_row[row[3]].add(text.strip())
    page = HEAD
    for _, pages, _, about in found:
        texts = "\n".join(sorted(of_row[about], key=lambda text: text.lstrip("… ").lower()))
        page += f"\n## An error about {about}\n\nIt is explained in {pages}.\n\n```text\n{texts}\n```\n"
    return page


def check_all_errors(root):
    there = sources.read(root, ALL) if os.path.exists(os.path.join(root, ALL)) else ""
    now = all_errors(root)
    if there != now:
        lines = [line for line in now.splitlines() if line not in there.splitlines()] or ["fewer lines"]
        yield f"{ALL}: it lacks `{lines[0]}`; write it by python3 tests/hygiene/check_messages.py . --write"


def check_troubleshooting(root):
    texts = messages.texts(root)
    for row in re.findall(r"^\| (.*?) \|", sources.read(root, TROUBLE), re.M):
        quote = QUOTED.match(row)
        if quote and not messages.is_in_sources(quote.group(1), texts):
            yield f"{TROUBLE}: nothing in the sources prints `{quote.group(1)}`"


def check(root):
    """All violations, each one line."""
    yield from check_errors(root)
    yield from check_all_errors(root)
    yield from check_troubleshooting(root)


def listed(root, words):
    """The errors that have one of the words, each a line with its page and source."""
    found = list(areas(root))
    for path, text in messages.thrown(root):
        if any(word in text for word in words):
            page = area_of(path, found)
            yield f"{text}\n    {page[1] if page else ''} {path}"


if __name__ == "__main__":
    if sys.argv[2:] == ["--write"]:
        with open(os.path.join(sys.argv[1], ALL), "w", encoding="utf-8") as file:
            file.write(all_errors(sys.argv[1]))
        sys.exit(0)
    if sys.argv[2:]:
        print("\n".join(listed(sys.argv[1], sys.argv[2:])) or "no error has these words")
        sys.exit(0)
    wrong = list(check(sys.argv[1]))
    print("\n".join(wrong) or "every message that a page quotes is in the sources")
    sys.exit(1 if wrong else 0)
