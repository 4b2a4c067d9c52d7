# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""Many command lines of riesz by one program that has loaded LibTorch (many_command_lines.cpp)."""

import os
import subprocess
import tempfile


class CommandLines:
    """What `subprocess.run` says of `riesz WORDS`, carried out by a process that the program forks."""

    def __init__(self, program):
        self.program = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = tempfile.TemporaryDirectory()

    def run(self, *words, environment=(), out=None):
        files = [out or os.path.join(self.folder.name, "out"), os.path.join(self.folder.name, "err")]
        variables = [f"{name}={value}" for name, value in dict(environment).items()]
        self.program.stdin.write("\x1f".join([*files, str(len(variables)), *variables, *words]) + "\x1e")
        self.program.stdin.flush()
        status = int(self.program.stdout.readline())
        texts = []
        for path in files:
            if path == out:
                texts.append("")
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return subprocess.CompletedProcess(words, status, *texts)

    def end(self):
        self.program.stdin.close()
        self.program.wait()
        self.folder.cleanup()
