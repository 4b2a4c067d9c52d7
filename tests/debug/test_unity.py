#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""unity.py: sources that cannot be one are not, and each is in one part."""

import unittest

import unity

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

    def test_sources_with_a_name_in_common_are_apart(self):
        other = "namespace { int sum(double x); }\n"
        parts = unity.parts_of({"a.cpp": OWN, "b.cpp": other, "c.cpp": "int c;\n"}, 2)
        self.assertEqual(sorted(path for part in parts for path in part), ["a.cpp", "b.cpp", "c.cpp"])
        self.assertNotIn(["a.cpp", "b.cpp"], [sorted({"a.cpp", "b.cpp"} & set(part)) for part in parts])
        with self.assertRaisesRegex(SystemExit, "has in an unnamed namespace what sources of all 1 parts have: sum;"):
            unity.parts_of({"a.cpp": OWN, "b.cpp": other}, 1)

    def test_a_public_type_of_the_name_is_left_alone(self):
        public = unity.public_types({"lines.h": "namespace riesz {\nstruct Line {};\nusing Words = int;\n}\n"})
        self.assertEqual(public, {"Line": "lines.h", "Words": "lines.h"})
        lines = list(unity.include("src/a.cpp", OWN.replace("Words", "Others"), public))
        self.assertEqual(lines, ['#include "lines.h"\n#define Line Line_of_a\n', '#include "src/a.cpp"\n', "#undef Line\n"])


if __name__ == "__main__":
    unittest.main()
