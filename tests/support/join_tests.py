#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes one source that has several tests' texts:  join_tests.py OUT.cpp SOURCE.cpp...

A compiler makes the templates that they have in common once instead of once a source, which is half of its time. The
unnamed namespace of each becomes one of its own, so that names in two of them do not meet; messages name the source
and its line.
"""

import os
import re
import sys

UNNAMED = re.compile(r"^namespace \{$", re.M)
BESIDE = re.compile(r'^(#include ")((?!riesz/)[^"]+")', re.M)
# What follows the unnamed namespace could not see into one with a name.
ALL_INSIDE = re.compile(r"^\}  // namespace\n(?:\}  // namespace [\w:]+\n)?\Z", re.M)


def joined(path, text):
    """A source's text as a part of another."""
    word = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    folder = os.path.dirname(os.path.abspath(path))
    text = BESIDE.sub(lambda match: f"{match[1]}{folder}/{match[2]}", text)
    return f'#line 1 "{path}"\n' + UNNAMED.sub(f"namespace of_{word} {{", text)


def may_be_joined(text):
    return len(UNNAMED.findall(text)) == 1 and ALL_INSIDE.search(text) is not None


def main(out, sources):
    with open(out, "w", encoding="utf-8") as file:
        for path in sources:
            with open(path, encoding="utf-8") as source:
                text = source.read()
            if len(sources) > 1 and not may_be_joined(text):
                sys.exit(f"{path}: a test that is compiled with others keeps all that it declares in one unnamed "
                         "namespace, to the end of the file")
            file.write(joined(path, text) if len(sources) > 1 else f'#include "{os.path.abspath(path)}"\n')


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
