#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""unity.py: sources that cannot be one are not, and each is in one part."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cmake"))
import unity  # noqa: E402

OWN = """namespace riesz {
namespace {
using Words = int;
constexpr int kMost = 3;
struct Line { int width() { return kMost < 4; } };
template <typename T> int sum(const T& x) { return x; }
std::vector<int> table = {1, 2};
}  // namespace
int open(int n) { return n; }
}  // namespace riesz
"""


class Unity(unittest.TestCase):
    def test_own_names(self):
        self.assertEqual(unity.own_names(OWN), {"Words", "kMost", "Line", "sum", "table"})
        inline = "namespace { inline __attribute__((always_inline)) int twice(int x) { return 2 * x; } }"
        self.assertEqual(unity.own_names(inline), {"twice"})
        shift = "namespace { const long kAtOnce = long{1} << 16; long half(long x) try { return x >> 1; } catch (...) { throw; } }"
        self.assertEqual(unity.own_names(shift + " void refuse();"), {"kAtOnce", "half"})
        self.assertEqual(unity.own_names('namespace { static_assert(sizeof(int) == 4); }'), set())

    def test_sources_with_a_name_in_common_are_apart(self):
        other = "namespace { int sum(double x); }\n"
        parts = unity.parts_of({"a.cpp": OWN, "b.cpp": other, "c.cpp": "int c;\n"}, 2)
        self.assertEqual(sorted(path for part in parts for path in part), ["a.cpp", "b.cpp", "c.cpp"])
        self.assertNotIn(["a.cpp", "b.cpp"], [sorted({"a.cpp", "b.cpp"} & set(part)) for part in parts])

    def test_a_name_that_two_sources_of_a_part_have_is_two(self):
        texts = {"a.cpp": OWN, "b/b.cpp": '#include "b.h"\nnamespace { int sum(double x); }\n'}
        parts = unity.parts_of(texts, 1)
        self.assertEqual(parts, [["a.cpp", "b/b.cpp"]])
        self.assertEqual(list(unity.part(parts[0], texts, set())),
                         ['#include "a.cpp"\n', '#include "b.h"\n', "#define sum sum_of_b_b\n", '#include "b/b.cpp"\n',
                          "#undef sum\n"])

    def test_a_header_beside_a_source_is_found_from_elsewhere(self):
        text = '#include "lists.h"\n#include "check_types.h"\n#include "check_types.py"\n#include <vector>\n'
        self.assertEqual(unity.includes("tests/hygiene/a.cpp", text),
                         ['#include "lists.h"\n', '#include "check_types.h"\n', '#include "tests/hygiene/check_types.py"\n', "#include <vector>\n"])

    def test_types_of_headers_beside(self):
        text = "class Line;\nenum class [[nodiscard]] Way { near };\nusing Words = int;\n  struct Inner {};\n"
        self.assertEqual(unity.types_beside({"lines.h": text}), {"Line", "Way", "Words"})

    def test_programs_that_are_compiled_together_have_a_main_each(self):
        texts = {"a.cpp": "int main() { return 0; }\n", "b.cpp": "int main(int argc, char**) { return argc; }\n"}
        self.assertEqual(list(unity.part(["a.cpp", "b.cpp"], texts, set())),
                         ['#include "a.cpp"\n', "#define main main_of_b\n", '#include "b.cpp"\n', "#undef main\n"])

    def test_a_source_is_in_the_part_of_its_place(self):
        texts = {f"{name}.cpp": f"int {name};\n" for name in "abcdef"}
        self.assertEqual(unity.parts_of(texts, 2), [["a.cpp", "b.cpp", "c.cpp"], ["d.cpp", "e.cpp", "f.cpp"]])
        texts["b.cpp"] = texts["d.cpp"] = "namespace { int own; }\n"
        self.assertEqual(unity.parts_of(texts, 2), [["a.cpp", "b.cpp", "c.cpp"], ["d.cpp", "e.cpp", "f.cpp"]])
        texts["c.cpp"] = texts.pop("d.cpp")
        self.assertEqual(unity.parts_of(texts, 2), [["a.cpp", "b.cpp"], ["c.cpp", "e.cpp", "f.cpp"]])

    def test_a_public_type_of_the_name_is_left_alone(self):
        public = unity.public_types({"lines.h": "namespace riesz {\nstruct Line {};\nusing Words = int;\n}\n"})
        self.assertEqual(public, {"Line", "Words"})
        lines = list(unity.part(["src/a.cpp"], {"src/a.cpp": OWN.replace("Words", "Others")}, public))
        self.assertEqual(lines, ["#define Line Line_of_src_a\n", '#include "src/a.cpp"\n', "#undef Line\n"])

    def test_a_part_of_the_same_text_is_as_old_as_before(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "part.cpp")
            unity.write(path, "int a;\n")
            os.utime(path, (1, 1))
            unity.write(path, "int a;\n")
            self.assertEqual(os.stat(path).st_mtime, 1)
            unity.write(path, "int b;\n")
            self.assertGreater(os.stat(path).st_mtime, 1)


if __name__ == "__main__":
    unittest.main()
