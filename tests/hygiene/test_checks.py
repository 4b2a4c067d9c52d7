#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""The checks themselves: each must see the violation it is for, in a small tree made here."""

import os
import tempfile
import unittest

import check_images
import check_includes
import check_links
import check_lists
import check_messages
import check_sizes
import check_types

LICENCE = "// SPDX-FileCopyrightText: The Riesz authors\n// SPDX-License-Identifier: BSD-3-Clause\n"
ROOMS = "# a comment\ncomm:\nnn: comm\nzero: comm nn\npipeline: comm nn\n"


class Tree(unittest.TestCase):
    def violations(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"cmake/rooms.txt": LICENCE + ROOMS, **files}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return list(check(root))

    def expect_one(self, check, files, message):
        found = self.violations(check, files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(message, found[0])


class Includes(Tree):
    def expect(self, path, text, message):
        self.expect_one(check_includes.check, {path: text}, message)

    def test_downward_is_allowed(self):
        files = {
            "src/comm/a.cpp": "#include <mpi.h>\n",
            "src/nn/b.h": '#include <ATen/core/Tensor.h>\n#include "riesz/comm/a.h"\n',
            "src/nn/b.cpp": '#include "riesz/nn/b.h"\n#include <ATen/ops/add.h>\n',
        }
        self.assertEqual(self.violations(check_includes.check, files), [])

    def test_upward(self):
        self.expect("src/comm/a.cpp", '#include "riesz/nn/b.h"\n', "comm may not include riesz/nn/b.h")

    def test_between_zero_and_pipeline(self):
        self.expect("src/zero/a.cpp", '#include "riesz/pipeline/b.h"\n', "zero may not include riesz/pipeline/b.h")
        self.expect("src/pipeline/a.cpp", '  #  include <riesz/zero/b.h>\n', "pipeline may not include riesz/zero/b.h")

    def test_mpi_and_nccl_outside_comm(self):
        self.expect("src/nn/a.cpp", "#include <mpi.h>\n", "only comm includes mpi.h")
        self.expect("src/nn/a.cpp", "#include <nccl.h>\n", "only comm includes nccl.h")

    def test_all_of_torch(self):
        self.expect("src/nn/a.cpp", "#include <torch/torch.h>\n", "torch/torch.h is slow to compile")

    def test_torch_in_a_public_header(self):
        self.expect("src/nn/a.h", "#include <ATen/ops/add.h>\n", "only ATen/core/Tensor.h")

    def test_operation_not_included(self):
        files = {
            "src/nn/a.cpp": "#include <ATen/ops/add.h>\nat::add(x, y);  // at::mul(x)\n",
            "src/nn/b.cpp": "at::add(x, y), at::unknown(x);\n",
            "tests/nn/c.cpp": "#include <ATen/ops/mul.h>\n",
        }
        self.expect_one(check_includes.check, files, "src/nn/b.cpp: it calls at::add and must include <ATen/ops/add.h>")

    def test_relative_path(self):
        self.expect("src/nn/a.cpp", '#include "../zero/b.h"\n', "must be included as riesz/<room>/[<folder>/]<file>.h")

    def test_unknown_room(self):
        self.expect("src/attic/a.cpp", "", "attic is not a room")
        self.expect("src/nn/a.cpp", '#include "riesz/attic/b.h"\n', "is not riesz/<room>/[<folder>/]<file>.h of a room")

    def test_own_header_not_first(self):
        files = {"src/nn/a.h": "", "src/nn/a.cpp": '#include <vector>\n#include "riesz/nn/a.h"\n'}
        self.expect_one(check_includes.check, files, "its first include must be riesz/nn/a.h")


class Sizes(Tree):
    def test_limit(self):
        longest = LICENCE + "\n" * (check_sizes.LIMIT - 2)
        self.assertEqual(self.violations(check_sizes.check, {"src/nn/a.cpp": longest}), [])
        self.expect_one(check_sizes.check, {"src/nn/a.cpp": longest + "\n"}, "401 lines; a file has at most 400")

    def test_licence(self):
        self.expect_one(check_sizes.check, {"src/nn/a.cpp": "int a;\n"}, "does not begin with the two SPDX lines")


class Types(Tree):
    BATCH = "namespace riesz {\n\nstruct Batch final : Base<int> {\n  int ids;\n};\n\n}  // namespace riesz\n"

    def expect(self, files, message):
        self.expect_one(check_types.check, files, message)

    def expect_none(self, files):
        self.assertEqual(self.violations(check_types.check, files), [])

    def test_two_of_one_name(self):
        other = "namespace riesz {\nclass Batch;\nclass Batch {\n  ~Batch();\n};\n}\n"
        self.expect({"src/comm/batch.h": other, "src/nn/task.h": self.BATCH},
                    "src/nn/task.h:3: riesz::Batch is also defined at src/comm/batch.h:3")
        self.expect({"src/comm/batch.cpp": other, "src/nn/task.cpp": self.BATCH}, "riesz::Batch is also defined")

    def test_after_what_looks_like_types_and_brackets(self):
        before = """
            // namespace elsewhere {
            #define OPEN {
            const char* text = "{" R"x(struct Batch { "))x";  /* { */ char c = '{'; int n = 1'000;
            namespace riesz::inner { template <typename T, class U = std::less<T>> struct Other {}; }
            namespace riesz { int f(class Batch& b) { struct Batch {}; return b.n < 3 ? b.n >> 1 : Batch{}.n; } }
            """
        again = before.replace("Other", "Another")
        self.expect({"src/comm/a.h": before + self.BATCH, "src/nn/b.h": again + self.BATCH},
                    "riesz::Batch is also defined")

    def test_members_and_enumerations(self):
        both = ("namespace riesz { enum class [[nodiscard]] Kind : int { one };"
                " struct A { template <class T> struct B {}; }; }")
        found = self.violations(check_types.check, {"src/comm/a.h": both, "src/nn/b.h": both})
        self.assertEqual([line.split(" is ")[0] for line in found],
                         ["src/nn/b.h:1: riesz::A", "src/nn/b.h:1: riesz::A::B", "src/nn/b.h:1: riesz::Kind"])

    def test_types_of_their_own(self):
        self.expect_none({
            "src/comm/a.cpp": "namespace riesz { namespace { struct Batch { struct Part {}; }; } }\n" + self.BATCH,
            "src/comm/b.cpp": "namespace riesz::b {\n" + self.BATCH.replace("riesz", "inner") + "}\n",
            "src/comm/c.h": "namespace riesz { struct A { struct Batch {}; }; struct Batch; }\n",
            "src/nn/d.cpp": "namespace { struct Batch {}; }\nstd::array<riesz::Batch, 3> three{};\n",
            "src/nn/e.h": "template <> struct hash<A> {};\n",
            "src/nn/f.h": "template <> struct hash<B> {};\n",
        })

    def test_tests_are_linked_with_the_library_and_their_folder(self):
        self.expect_none({"tests/nn/a.cpp": self.BATCH, "tests/comm/a.cpp": self.BATCH})
        self.expect({"tests/nn/a.cpp": self.BATCH, "tests/nn/b.cpp": self.BATCH}, "riesz::Batch is also defined")
        self.expect({"tests/nn/a.cpp": self.BATCH, "src/comm/b.cpp": self.BATCH}, "riesz::Batch is also defined")


class Links(Tree):
    def test_what_is_there(self):
        files = {
            "README.md": "# Words\n[a](docs/in/a.md#what-a-is), [there](https://there.org/a.md), `riesz/comm/a.h`, `riesz train`\n",
            "docs/in/a.md": "## What `a` is?\n[up](../../README.md#words), [here](#what-a-is), `src/comm/a.h`, `riesz/testing/t.h`\n",
            "src/comm/a.h": "/// See docs/in/a.md.\n",
            "tests/support/t.h": "",
        }
        self.assertEqual(self.violations(check_links.check, files), [])

    def test_what_is_not(self):
        self.expect_one(check_links.check, {"README.md": "[a](docs/a.md)\n"}, "README.md: it links to docs/a.md")
        self.expect_one(check_links.check, {"docs/in/a.md": "`src/comm/a.h`\n"}, "docs/in/a.md: it names src/comm/a.h")
        self.expect_one(check_links.check, {"README.md": "# Words\n[a](#deeds)\n"}, "README.md: it links to #deeds, a heading")
        index = {"docs/README.md": "[a](in/a.md)\n", "docs/in/a.md": "", "docs/in/b.md": ""}
        self.expect_one(check_links.check, index, "docs/in/b.md: docs/README.md, the index, does not link to it")
        self.expect_one(check_links.check, {"src/comm/a.h": "/// See docs/a.md.\n"}, "src/comm/a.h: it names docs/a.md")
        self.expect_one(check_links.check, {"docs/a.md": "`riesz/comm/a.h`\n"}, "it names riesz/comm/a.h")


class Lists(Tree):
    LIST = {"src/nn/CMakeLists.txt": "riesz_room(nn HEADERS b.h SOURCES a.cpp)\n"}

    def test_listed(self):
        files = {**self.LIST, "src/nn/a.cpp": '#include "riesz/nn/inner.h"\n', "src/nn/b.h": "", "src/nn/inner.h": ""}
        self.assertEqual(self.violations(check_lists.check, files), [])

    def test_source_not_built(self):
        self.expect_one(check_lists.check, {**self.LIST, "src/nn/c.cpp": ""}, "src/nn/c.cpp: the nearest CMakeLists.txt")
        self.expect_one(check_lists.check, {"tests/nn/c_test.cpp": ""}, "tests/nn/c_test.cpp: the nearest CMakeLists.txt")

    def test_header_not_installed(self):
        files = {**self.LIST, "src/nn/c.h": "", "src/zero/d.h": '#include "riesz/nn/c.h"\n'}
        self.expect_one(check_lists.check, files, "src/nn/c.h: other rooms include it")
        for user in "src/nn/b.h", "examples/b.h":
            files = {**self.LIST, "src/nn/c.h": "", user: '#include "riesz/nn/c.h"\n'}
            self.expect_one(check_lists.check, files, f"{user}: it is for users, but includes riesz/nn/c.h")

    def test_header_for_other_rooms_alone(self):
        files = {
            "src/nn/CMakeLists.txt": "riesz_room(nn\n  HEADERS\n    b.h\n  INTERNAL\n    inner/c.h)\n",
            "src/nn/inner/c.h": "",
            "src/zero/d.h": '#include "riesz/nn/inner/c.h"\n',
        }
        self.assertEqual(self.violations(check_lists.check, files), [])
        files["src/nn/b.h"] = '#include "riesz/nn/inner/c.h"\n'
        self.expect_one(check_lists.check, files, "src/nn/b.h: it is for users, but includes riesz/nn/inner/c.h")


class Images(Tree):
    DOCKER = "# all but\n*\n!src\n!tests/hygiene/*.py\n**/*.pyc\n"
    APPTAINER = "Bootstrap: docker\n%files\n  src /src/src\n  tests/hygiene /src/tests/hygiene\n\n%files from build\n  /a /a\n"

    def files(self, docker=DOCKER, apptainer=APPTAINER):
        return {".dockerignore": docker, "riesz.def": apptainer, "src/a.cpp": "", "tests/hygiene/a.py": ""}

    def test_the_same_files(self):
        self.assertEqual(self.violations(check_images.check, self.files()), [])

    def test_others(self):
        files = self.files(docker=self.DOCKER + "!src/a.cpp\n")
        self.expect_one(check_images.check, files, "riesz.def: it lacks src/a.cpp")
        files = self.files(docker=self.DOCKER.replace("!src\n", ""))
        self.expect_one(check_images.check, files, "riesz.def: it takes src, which .dockerignore keeps out")
        files = self.files(apptainer=self.APPTAINER.replace("src /src/src", "src /src"))
        self.expect_one(check_images.check, files, "riesz.def: src goes to /src")


class Messages(Tree):
    TABLE = "| an error about | messages such as | page | from |\n|---|---|---|---|\n"
    ROW = "| sizes | `is too long, by …`, `which gives` | [sizes](a.md) | `src/nn` |\n"
    SOURCE = 'RIESZ_CHECK(a, b, " is too long, by ",\n  c, ": 3, \\"x\\", "\n  "which gives ", d ? "one" : "two");\n'
    TROUBLE = "| what you see | cause |\n|---|---|\n| `the row 7 is too long, by 3` | a row |\n| no message | none |\n"

    def files(self, **others):
        pages = {check_messages.ERRORS: self.TABLE + self.ROW, check_messages.TROUBLE: self.TROUBLE}
        return {"src/nn/a.cpp": self.SOURCE, **pages, **others}

    def violations(self, check, files):
        def once_all_are_listed(root):
            if check_messages.ALL not in files:
                with open(os.path.join(root, check_messages.ALL), "w", encoding="utf-8") as file:
                    file.write(check_messages.all_errors(root))
            return check(root)
        return super().violations(once_all_are_listed, files)

    def test_the_page_of_all_errors(self):
        files = self.files(**{check_messages.ALL: "# All errors\n"})
        self.expect_one(check_messages.check, files, "all_errors.md: it lacks")
        with tempfile.TemporaryDirectory() as root:
            for path, text in self.files().items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            page = check_messages.all_errors(root)
        self.assertIn('## An error about sizes\n\nIt is explained in [sizes](a.md).\n\n```text\n… is too long, by …: 3, "x", which gives ', page)

    def test_both_pages_are_right(self):
        self.assertEqual(self.violations(check_messages.check, self.files()), [])

    def test_a_message_that_changed(self):
        files = self.files(**{"src/nn/a.cpp": self.SOURCE.replace("which gives", "which makes")})
        self.expect_one(check_messages.check, files, "no error below src/nn says `which gives`")
        files = self.files(**{check_messages.TROUBLE: self.TROUBLE.replace("too long, by", "shorter than others")})
        self.expect_one(check_messages.check, files, "nothing in the sources prints `the row 7 is shorter than others 3`")

    def test_an_error_without_a_row(self):
        files = self.files(**{"src/zero/b.cpp": 'throw_error("no");\n// RIESZ_CHECK(a, "in a comment");\n'})
        self.expect_one(check_messages.check, files, "no row of its table has the errors of src/zero/b.cpp")

    def test_a_folder_that_is_gone(self):
        files = self.files(**{check_messages.ERRORS: self.TABLE + self.ROW.replace("`src/nn`", "`src/nn`, `src/attic`")})
        self.expect_one(check_messages.check, files, "it names src/attic, which is not there")


if __name__ == "__main__":
    unittest.main()
