#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""draw.py MANY LIST [NAME=WORD...]: what commands print, for a page, each under a line "== NAME OF THE DRAWING".

A line of the list is a drawing's name and the words of riesz; "$NAME" is a word that is given here. MANY is
many_command_lines.
"""

import string
import sys

from command_lines import CommandLines


def main(program, listed, *given):
    known = dict(word.split("=", 1) for word in given)
    lines = CommandLines(program)
    with open(listed, encoding="utf-8") as file:
        for name, *words in (line.split() for line in file if not line.startswith("#")):
            done = lines.run(*(string.Template(word).substitute(known) for word in words))
            if done.returncode != 0:
                sys.exit(f"{name}: {done.stderr}")
            print(f"== {name}\n{done.stdout}", end="")
    lines.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
