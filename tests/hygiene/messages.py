# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The messages of errors in the sources, and the words of them that a page quotes."""

import re

import sources

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.S)
BETWEEN = re.compile(r'(?<!\\)"\s*\n\s*"')
COMMENT = re.compile(r"^\s*//.*$", re.M)
THROWN = re.compile(r"\b(RIESZ_CHECK|throw_error|throw Error)\(")
VALUE = re.compile(r'…|"[^"]*"|\b\d[\d.]*\b|[:;(),] | and |No space left on device|File too large')


def written(literal):
    """What a literal stands for; a new line is a space."""
    return re.sub(r"\\(.)", lambda escape: " " if escape.group(1) == "n" else escape.group(1), literal)


def code(root, path):
    """A source without comments, with literals that continue on the next line joined."""
    return BETWEEN.sub("", COMMENT.sub("", sources.read(root, path)))


def texts(root):
    """All text literals of the sources that users run, and the lines of the scripts, as one text."""
    found = []
    for path in sources.files(root, (".h", ".cpp"), ("src", "app", "models", "tests/support")):
        text = code(root, path)
        found += [written(literal) for literal in LITERAL.findall(text)]
        found += [raw for _, raw in RAW.findall(text)]
    for path in sources.files(root, (".sh", ".sh.in"), ("scripts", "cmake")):
        found += sources.read(root, path).splitlines()
    return "\0".join(found)


def arguments(text, at):
    """The arguments of the call whose parenthesis opens just before `at`, as they are written."""
    found, depth, begin = [], 0, at
    while depth >= 0:
        literal = LITERAL.match(text, at) if text[at] == '"' else re.compile(r"'(?:\\.|[^'\\])'").match(text, at)
        if literal:
            at = literal.end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth < 0 or (depth == 0 and text[at] == ","):
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return found


def thrown(root):
    """(path, message) of each error that is thrown, with … for what it is given."""
    for path in sources.files(root, (".h", ".cpp"), ("src", "app", "models")):
        text = code(root, path)
        for call in THROWN.finditer(text):
            if text[: call.start()].rsplit("\n", 1)[-1].lstrip().startswith("#define"):
                continue
            parts = arguments(text, call.end())[1 if call.group(1) == "RIESZ_CHECK" else 0:]
            words = ["".join(LITERAL.findall(part)) if LITERAL.fullmatch(part.strip()) else
                     "…".join(["", *LITERAL.findall(part), ""]) for part in parts]
            message = written("".join(words))
            yield path, re.sub(r"(?:…\s*)+", lambda values: "…" + values.group(0).rpartition("…")[2], message)


def longest_run(text, all_texts):
    """The longest run of its words that a text of the sources has."""
    best, words = "", text.split(" ")
    for begin in range(len(words)):
        for end in range(len(words), begin, -1):
            run = " ".join(words[begin:end])
            if len(run) <= len(best):
                break
            if run in all_texts:
                best = run
                break
    return best


def is_in_sources(quote, all_texts):
    """Do the sources have a quoted message, but for its values? Parts end where a message is put together: at values and at
    most signs. Some words of a part may be values too, so the sources have half of each part of four words, and 0.65 of all."""
    parts = [part.strip() for part in VALUE.split(quote)]
    there = [len(longest_run(part, all_texts).strip()) for part in parts]
    halves = all(2 * found >= len(part) for part, found in zip(parts, there) if len(part.split()) >= 4)
    return halves and sum(there) >= 0.65 * sum(map(len, parts))
