# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The check of pages itself: it must see each difference it is for."""
import pathlib
import tempfile
import unittest

import check_page

SOURCE = "// About.\n#include <x>\n\nint f() {\n  return 1;\n}\n\nint g();\n"
OUTPUT = "noise\n== one\n1 2\n== two\n3\n"
DRAWN = "<!-- drawn: one -->\n```text\n1 2\n```\nand\n<!-- drawn: two -->\n```text\n3\n```\n"


def code(text):
    return f"<!-- from: a.cpp -->\n```cpp\n{text}```\n"


class CheckPage(unittest.TestCase):
    def check(self, page, output=None, whole=()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text(SOURCE)
            return check_page.check(page, root, output, whole)

    def expect(self, message, *arguments):
        found = self.check(*arguments)
        self.assertEqual(len(found), 1, found)
        self.assertIn(message, found[0])

    def test_what_is_drawn(self):
        self.assertEqual(self.check(DRAWN, OUTPUT), [])
        self.expect("+1 2", DRAWN.replace("1 2", "1 3"), OUTPUT)
        self.expect("nothing is drawn as 'three'", DRAWN + "<!-- drawn: three -->\n```text\n```\n", OUTPUT)
        self.expect("drawn as 'two' is not in the page", DRAWN.split("and\n")[0], OUTPUT)

    def test_it_is_put_right(self):
        wrong = DRAWN.replace("1 2", "1 3")
        self.assertEqual(check_page.redrawn(wrong, OUTPUT), DRAWN)
        self.assertEqual(check_page.redrawn(code("int g();\n"), OUTPUT), code("int g();\n"))

    def test_code(self):
        self.assertEqual(self.check(code("int g();\n") + code("return 1;\n")), [])
        self.expect("does not stand in a.cpp", code("int f() {\n}\n"))
        self.expect("does not stand in a.cpp", code(""))
        self.expect("is from no file", "```cpp\nint g();\n```\n")

    def test_the_whole_file(self):
        head, tail = SOURCE.removeprefix("// About.\n").split("\n\nint g")
        self.assertEqual(self.check(code(head + "\n") + code("int g" + tail), None, ["a.cpp"]), [])
        self.expect("not the whole of a.cpp", code(head + "\n"), None, ["a.cpp"])

    def test_what_is_printed(self):
        page = "<!-- printed -->\n```text\na.cpp:3: x\n= 0.123457\n```\n"
        self.assertEqual(self.check(page, "/some/where/a.cpp:3: x\n= 0.12345678901\nmore\n"), [])
        self.assertEqual(self.check("<!-- printed -->\n```text\nin 1.0 s\n```\n", "in 1.23456789 s\n"), [])
        self.expect("is not printed", page, "/some/where/a.cpp:4: x\n= 0.12345678901\n")
        self.expect("is not printed", page, "/some/where/a.cpp:3: x\n= 0.12345978901\n")
        parts = "<!-- printed -->\n```\none\n  …\nfour\nfive\n```\n"
        self.assertEqual(self.check(parts, "none\none\ntwo\nthree\nfour\nfive\n"), [])
        self.assertEqual(self.check(parts, "one\nfour\nfive\n"), [])
        for other in ("one\ntwo\nfour\n", "four\nfive\none\n", "none\nfour\nfive\n", "one\nfour\ntwo\nfive\n"):
            self.expect("is not printed", parts, other)


if __name__ == "__main__":
    unittest.main()
