#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a few sources that include many:  unity.py PART.cpp... -- SOURCE.cpp... [-- FOLDER...]

A compiler reads the headers, and makes the templates that sources have in common, once a part instead of once a source,
which is most of its time. Names that two sources both have in unnamed namespaces would meet there, so such sources go
into different parts, as far as there are parts; else, and where a public type has the name, it is another word in one
source. Public types are those of headers beside the sources, and below the folders that are given.
"""

import collections
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "hygiene"))
from check_types import after_group, definition_at, tokens, types  # noqa: E402


# What stands before a bracket and is no name.
KEYWORDS = {"__attribute__", "alignas", "catch", "const", "decltype", "for", "if", "noexcept", "operator", "requires", "return",
            "sizeof", "static_assert", "switch", "try", "while"}


def declared(words, at):
    """(names, place after it) of the type, function, variables or alias declared at `at`."""
    if words[at][0] in ("class", "struct", "union", "enum"):
        defined = definition_at(words, at)
        if defined:
            return {defined[0]}, after_group(words, defined[1])
    names = set()
    while at < len(words) and words[at][0] not in ";{}":
        word, before, after = (words[place][0] for place in (at, at - 1, at + 1))
        named = re.match(r"[A-Za-z_]", word) and word not in KEYWORDS
        if named and after in "([={;," and before not in ("=", "::", "return"):
            names.add(word)
        if words[at][0] == words[at + 1][0] == "<":  # a shift, which closes nothing
            at += 2
        elif words[at][0] == "<" and words[at - 1][0] != "operator":
            at = after_group(words, at)
        elif words[at][0] == "(":
            at = after_group(words, at)
        else:
            at += 1
    return names, after_group(words, at) if at < len(words) and words[at][0] == "{" else at + 1


def names_in(text, unnamed):
    """The names that a text declares in unnamed namespaces; or in named ones alone."""
    words, found, scopes, at = tokens(text), set(), [], 0
    while at < len(words):
        word = words[at][0]
        if word == "template" and words[at + 1][0] == "<":
            at = after_group(words, at + 1)
        elif word == "}":
            del scopes[-1:]
            at += 1
        elif word == ";":
            at += 1
        elif word == "namespace":
            end = next(place for place in range(at, len(words)) if words[place][0] in "{;=")
            if words[end][0] == "{":
                scopes.append("".join(name for name, _ in words[at + 1:end]))
            while words[end][0] not in "{;":  # another namespace's name, which may be given twice
                end += 1
            at = end + 1
        else:
            names, at = declared(words, at)
            if ("" in scopes) == unnamed:
                found |= names
    return found


def own_names(text):
    return names_in(text, unnamed=True)


def program(text):
    """main, where a source has it: programs that are compiled together, and not linked, have one each."""
    return {"main"} if re.search(r"^int main\(", text, re.M) else set()


def public_types(texts):
    """The types and aliases that headers, {path: text}, give the namespace riesz."""
    found = set()
    for text in texts.values():
        found.update(name.split("::")[1] for name, _ in types(text) if name.count("::") == 1)
        found.update(re.findall(r"^using (\w+) =", text, re.M))
    return found


def types_beside(texts):
    """What headers that clang-format has set give any namespace; sooner, since there may be many."""
    return {name for text in texts.values()
            for name in re.findall(r"^(?:(?:class|struct|union|enum(?: class)?) (?:\[\[.*?\]\] )?|using )(\w+)", text, re.M)}


def parts_of(texts, count):
    """The sources, {path: text}, in `count` lists. Each is in the part of its place in the order given, so that who edits
    one source compiles one part, unless one there has a name in common with it; then in the nearest where none has."""
    names = {path: own_names(text) for path, text in texts.items()}
    uses = collections.Counter(name for its_names in names.values() for name in its_names)
    # Those that most others keep out of their part choose first.
    rivals = {path: sum(uses[name] - 1 for name in its_names) for path, its_names in names.items()}
    places = {path: place * count // len(texts) for place, path in enumerate(texts)}
    parts = [(set(), []) for _ in range(count)]
    for path in sorted(texts, key=lambda path: -rivals[path]):
        free = [part for part in range(count) if not parts[part][0] & names[path]]
        part = parts[min(free or [places[path]], key=lambda part: abs(part - places[path]))]
        part[0].update(names[path])
        part[1].append(path)
    return [sorted(paths, key=list(texts).index) for _, paths in parts]


def includes(path, text):
    """A source's lines of #include, from wherever they stand: a header beside the source by its path from the root."""
    def from_root(match):
        beside = os.path.normpath(os.path.join(os.path.dirname(path), match[1]))
        return f'#include "{beside}"' if os.path.exists(os.path.join(ROOT, beside)) else match[0]

    return [re.sub(r'#include "([^"]+)"', from_root, line) for line in re.findall(r"^#include .*\n", text, re.M)]


def part(paths, texts, public):
    """Lines that include sources. A name that another source before or a public type also has is another word in the
    source, after all that it includes."""
    taken = set(public)
    for path in paths:
        own = own_names(texts[path]) | program(texts[path])
        word = re.sub(r"\W", "_", os.path.splitext(path)[0])
        hidden = sorted(own & taken)
        if hidden:
            yield from includes(path, texts[path])
        yield from (f"#define {name} {name}_of_{word}\n" for name in hidden)
        yield f'#include "{path}"\n'
        yield from (f"#undef {name}\n" for name in hidden)
        taken |= own


def write(path, text):
    """Only where it is not the text there already: what is as old as before is not compiled again."""
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def read(paths):
    """{path from the root: text}"""
    return {os.path.relpath(path, ROOT): open(path, encoding="utf-8").read() for path in paths}


def groups(words):
    """The words between those that are "--"."""
    while "--" in words:
        end = words.index("--")
        yield words[:end]
        words = words[end + 1:]
    yield words


if __name__ == "__main__":
    written, sources, *beside = groups(sys.argv[1:])
    sources = read(sources)
    folders = {os.path.join(ROOT, os.path.dirname(path)) for path in sources}
    public = public_types(read(path for folder in sorted(folders) for path in glob.glob(f"{folder}/*.h")))
    public |= types_beside(read(path for folder in sum(beside, []) for path in glob.glob(f"{folder}/**/*.h", recursive=True)))
    for name, paths in zip(written, parts_of(sources, len(written))):
        write(name, "".join(part(paths, sources, public)))
