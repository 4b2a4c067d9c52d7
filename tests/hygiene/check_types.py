#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no two types of a tree have one name (argument: its root).

Two classes of one name in two files that are linked together are one to the linker, which takes one's destructor for
both; no compiler sees it, since neither file includes the other. A type that only its own source uses belongs into an
unnamed namespace or into a class, where it is a type of its own.
"""

import os
import re
import sys

import sources

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/                                            # comments
  | ^[ \t]*\#(?:\\\n|[^\n])*                                        # directives, with the lines that go on
  | R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*"   # texts
  | (?<![\w])'(?:\\.|[^'\\\n])+'                                    # characters; in 1'000 it is no quote
  | (?P<token>\w+|::|\[\[|\]\]|[^\s\w])
""", re.X | re.S | re.M)
CLOSING = {"(": ")", "[[": "]]", "<": ">", "{": "}"}


def tokens(text):
    """(token, line) of all that is neither comment, directive, text nor character."""
    found, line, end = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        if match["token"]:
            found.append((match["token"], line))
    return found


def after_group(words, at):
    """The place after the bracket that closes the one at `at`."""
    opening, depth = words[at][0], 0
    for place in range(at, len(words)):
        depth += (words[place][0] == opening) - (words[place][0] == CLOSING[opening])
        if depth == 0:
            return place + 1
    return len(words)


def name_at(words, at):
    """(name, place after it) of a type's name, with what it is specialised for; attributes go before it."""
    name = ""
    while at < len(words):
        word = words[at][0]
        if word in ("[[", "alignas", "__attribute__"):
            at = after_group(words, at + (word != "[["))
        elif word == "::" or (re.match(r"[A-Za-z_]", word) and word != "final" and (not name or name.endswith("::"))):
            name, at = name + word, at + 1
        elif word == "<" and name:
            end = after_group(words, at)
            name, at = name + "".join(w for w, _ in words[at:end]), end
        else:
            break
    return name, at


def definition_at(words, at):
    """(name, place of its brace) if a type is defined at the class, struct, union or enum at `at`, else None."""
    name, place = name_at(words, at + 1 + (words[at][0] == "enum" and words[at + 1][0] in ("class", "struct")))
    if name and place < len(words) and words[place][0] == "final":
        place += 1
    if name and place < len(words) and words[place][0] == ":":
        while place < len(words) and words[place][0] not in "{;":
            place += 1
    return (name, place) if name and place < len(words) and words[place][0] == "{" else None


def types(text):
    """(qualified name, line) of the types that a text defines in named namespaces and in classes there."""
    words, found, scopes, at = tokens(text), [], [], 0
    while at < len(words):
        word, line = words[at]
        if word == "template" and at + 1 < len(words) and words[at + 1][0] == "<":
            at = after_group(words, at + 1)
        elif word == "}":
            del scopes[-1:]
            at += 1
        elif word == "{":  # neither namespace nor type: a body, or an initialiser
            at = after_group(words, at)
        elif word == "namespace":
            end = next(place for place in range(at, len(words)) if words[place][0] in "{;=")
            if words[end][0] == "{":
                scopes.append("".join(name for name, _ in words[at + 1:end]))
            at = end + 1
        elif word in ("class", "struct", "union", "enum"):
            defined = definition_at(words, at)
            if defined:
                scopes.append(defined[0])
                if all(scopes):
                    found.append(("::".join(scopes), line))
            at = defined[1] + 1 if defined else at + 1
        else:
            at += 1
    return found


def linked_together(path):
    """What a file's types are linked with: the library, or what is made of its own folder."""
    return "" if sources.room_of(path) else os.path.dirname(path)


def check(root):
    """All violations, each one line."""
    places = {}
    for path in sources.files(root, sources.CODE):
        for name, line in dict(reversed(types(sources.read(root, path)))).items():
            places.setdefault(name, []).append((linked_together(path), f"{path}:{line}"))
    for name, defined in sorted(places.items()):
        for i, (group, place) in enumerate(defined):
            others = [other for its_group, other in defined[:i] if group == its_group or "" in (group, its_group)]
            if others:
                yield (f"{place}: {name} is also defined at {others[0]}: to the linker they are one type; "
                       "rename one, or put it into an unnamed namespace")


if __name__ == "__main__":
    found = list(check(sys.argv[1]))
    print("\n".join(found) or "each type has a name of its own")
    sys.exit(1 if found else 0)
