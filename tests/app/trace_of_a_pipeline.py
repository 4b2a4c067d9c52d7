#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""trace_of_a_pipeline.py FOLDER COMMAND ...: runs the training, which traces 1F1B on 2 workers, 3 micro-batches twice a
step, into FOLDER, and looks at both files: each worker has its row's actions, in order and one after another, and none
begins before what it needs has begun.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROWS = [["0F0", "0F1", "0B0", "0F2", "0B1", "0B2"], ["1F0", "1B0", "1F1", "1B1", "1F2", "1B2"]]


def main(folder, *command):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([*command, f"pipeline.trace={folder}/trace", f"output.folder={folder}/results"],
                   check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    with open(f"{folder}/trace/timeline.json", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    when = {}
    for worker, row in enumerate(ROWS):
        own = [event for event in events if event["tid"] == worker]
        assert [event["name"] for event in own] == row, own
        for before, after in zip(own, own[1:]):
            assert before["ts"] + before["dur"] <= after["ts"] + 0.01, (before, after)
        when.update((event["name"], event["ts"]) for event in own)
    for i in range(3):
        assert when[f"0F{i}"] < when[f"1F{i}"] and when[f"1B{i}"] < when[f"0B{i}"], i
    picture = xml.etree.ElementTree.parse(f"{folder}/trace/timeline.svg")
    boxes = [box for box in picture.iter() if box.tag.endswith("title")]
    assert len(boxes) >= len(events) == 12, len(boxes)
    assert sorted(os.listdir(f"{folder}/trace")) == ["timeline.json", "timeline.svg"]
    print("both files say what each worker did when")


if __name__ == "__main__":
    main(*sys.argv[1:])
