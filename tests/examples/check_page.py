# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Is what a page shows what the programs are and print?

    check_page.py PAGE [--root FOLDER] [--whole FILE]... [--fails] [--write] [-- COMMAND ARGUMENT...]

A comment before a block of the page says what the block must be:

    <!-- drawn: NAME -->   what COMMAND prints between its line "== NAME" and the next such line
    <!-- printed -->       lines that COMMAND prints one after another (long numbers by six digits; folders, and how
                           many seconds anything took, aside); a line "…" stands for any lines
    <!-- from: FILE -->    lines that stand in FILE one after another (their common indentation aside)

Every block of C++ needs a FILE, and every NAME a block. With --whole the blocks from FILE, in order, are all of it
from its first #include on. With --fails the COMMAND must fail, else it must not. --write puts what is drawn now into
the page.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import textwrap

BLOCK = re.compile(r"(?:^<!-- (drawn|from|printed)(?:: ([^\n]*))? -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


def sections(output):
    """What stands under each line "== NAME"."""
    parts = re.split(r"^== (.*)\n", output, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def plain(text):
    """The text with times put out, long numbers rounded, and folders before file names taken away."""
    text = re.sub(r"\b\d+(?:\.\d+)? s\b", "… s", text)
    text = re.sub(r"-?\d+\.\d{6,}(?:e[-+]\d+)?", lambda number: f"{float(number[0]):.6g}", text)
    text = re.sub(r"/?(?:[\w.-]+/)+(?=[\w-]+\.(?:cpp|h)\b)", "", text)
    return "\n" + "".join(line.rstrip() + "\n" for line in text.splitlines())


def is_printed(block, output):
    """Are the block's lines lines of the output, in order, with others only where the block has a line "…"?"""
    text = plain(output)
    at = 0
    for part in re.split(r"^ *…\n", block, flags=re.M):
        if part:
            begin = text.find(plain(part), at)
            if begin < 0:
                return False
            at = begin + len(plain(part)) - 1
    return True


def contains(text, block):
    """Are the block's lines lines of the text, one after another, however far all of them are indented?"""
    lines = text.splitlines()
    count = len(block.splitlines())
    return any(
        textwrap.dedent("\n".join(lines[i : i + count])) + "\n" == block for i in range(len(lines) - count + 1)
    )


def difference(expected, found, what):
    lines = difflib.unified_diff(
        found.splitlines(), expected.splitlines(), "the page", what, lineterm="", n=2
    )
    return "\n".join(lines)


def check(page, root, output, whole=()):
    """What is wrong with the page's text, as a list of texts."""
    wrong = []
    drawings = sections(output or "")
    shown = set()
    pieces = {}
    for kind, name, language, block in BLOCK.findall(page):
        head = block.split("\n", 1)[0]
        if kind == "drawn":
            shown.add(name)
            if name not in drawings:
                wrong.append(f"nothing is drawn as '{name}'")
            elif block != drawings[name]:
                wrong.append(f"'{name}' is not what is drawn:\n{difference(drawings[name], block, 'the program')}")
        elif kind == "printed":
            if not block.strip() or not is_printed(block, output or ""):
                wrong.append(f"the block that begins '{head}' is not printed by the program:\n{output}")
        elif kind == "from":
            pieces.setdefault(name, []).append(block)
            if not block.strip() or not contains((root / name).read_text(), block):
                wrong.append(f"the block that begins '{head}' does not stand in {name}:\n{block}")
        elif language == "cpp":
            wrong.append(f"the C++ block that begins '{head}' is from no file")
    wrong += [f"what is drawn as '{name}' is not in the page" for name in drawings if name not in shown]
    for name in whole:
        text = re.sub(r"\A.*?(?=^#include)", "", (root / name).read_text(), flags=re.M | re.S)
        if (joined := "\n".join(pieces.get(name, []))) != text:
            wrong.append(f"the page is not the whole of {name}:\n{difference(text, joined, name)}")
    return wrong


def redrawn(page, output):
    """The page with what is drawn now."""
    drawings = sections(output)

    def replace(match):
        if match[1] != "drawn" or match[2] not in drawings:
            return match[0]
        return f"<!-- drawn: {match[2]} -->\n```{match[3]}\n{drawings[match[2]]}```"

    return BLOCK.sub(replace, page)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--whole", action="append", default=[])
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--write", action="store_true")
    own = sys.argv[1:]
    command = []
    if "--" in own:
        command = own[own.index("--") + 1 :]
        own = own[: own.index("--")]
    arguments = parser.parse_args(own)

    output = None
    if command:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        output = run.stdout + run.stderr if arguments.fails else run.stdout
        if (run.returncode != 0) != arguments.fails:
            sys.exit(f"{output}\n{run.stderr}\n{' '.join(command)}\nreturned {run.returncode}")
    page = arguments.page.read_text()
    if arguments.write:
        page = redrawn(page, output or "")
        arguments.page.write_text(page)
    wrong = check(page, arguments.root, output, arguments.whole)
    if wrong:
        again = " ".join([sys.executable, *sys.argv[:2], "--write", *sys.argv[2:]])
        print(*wrong, f"Code and printed lines are put right by hand, drawings by\n{again}", sep="\n\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
