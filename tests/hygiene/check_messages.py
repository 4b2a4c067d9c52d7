#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the messages that pages quote (argument: the tree's root); with further arguments it lists the errors that have them.

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
TROUBLE = os.path.join("docs", "start", "troubleshooting.md")
QUOTED = re.compile(r"`([^`]+)`")


def areas(root):
    """(messages, pages, folders) of each row of the first table of the page of errors."""
    table = re.search(r"^\| an error about .*\n\|[-|]+\n((?:\|.*\n)+)", sources.read(root, ERRORS), re.M)
    for row in table.group(1).splitlines() if table else ():
        _, _, quotes, pages, folders, _ = re.split(r"(?<!\\)\|", row)
        yield QUOTED.findall(quotes), pages.strip(), QUOTED.findall(folders)


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
    for quotes, _, folders in found:
        for folder in folders:
            if not os.path.exists(os.path.join(root, folder)):
                yield f"{ERRORS}: it names {folder}, which is not there"
        here = [text for path, text in thrown if area_of(path, [(quotes, "", folders)])]
        for quote in quotes:
            if not any(has(text, quote) for text in here):
                yield f"{ERRORS}: no error below {', '.join(folders)} says `{quote}`"
    for path in sorted({path for path, _ in thrown if not area_of(path, found)}):
        yield f"{ERRORS}: no row of its table has the errors of {path}"


def check_troubleshooting(root):
    texts = messages.texts(root)
    for row in re.findall(r"^\| (.*?) \|", sources.read(root, TROUBLE), re.M):
        quote = QUOTED.match(row)
        if quote and not messages.is_in_sources(quote.group(1), texts):
            yield f"{TROUBLE}: nothing in the sources prints `{quote.group(1)}`"


def check(root):
    """All violations, each one line."""
    yield from check_errors(root)
    yield from check_troubleshooting(root)


def listed(root, words):
    """The errors that have one of the words, each a line with its page and source."""
    found = list(areas(root))
    for path, text in messages.thrown(root):
        if any(word in text for word in words):
            page = area_of(path, found)
            yield f"{text}\n    {page[1] if page else ''} {path}"


if __name__ == "__main__":
    if sys.argv[2:]:
        print("\n".join(listed(sys.argv[1], sys.argv[2:])) or "no error has these words")
        sys.exit(0)
    wrong = list(check(sys.argv[1]))
    print("\n".join(wrong) or "every message that a page quotes is in the sources")
    sys.exit(1 if wrong else 0)
