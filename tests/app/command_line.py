#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""command_line.py FOLDER MPIRUN RIESZ CONFIG TEXT: what the program says of its commands and options, and of wrong ones."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

FOLDER, MPIRUN, RIESZ, CONFIG, TEXT = sys.argv[1:]
# An MPI that cannot start: what needs none is printed all the same.
NO_MPI = dict(os.environ, OMPI_MCA_pml="there_is_none", OMPI_MCA_osc="there_is_none")
SMALL = ["data.digits=1", "data.held_out=0.1", "model.layers=1", "train.batch=8", "train.steps=4", "train.eval_size=8",
         "schedule.warm_up=0"]
faults = 0


def expect(condition, *what):
    global faults
    if not condition:
        faults += 1
        print("wrong:", *what)


def run(*words, launcher=(), out=subprocess.PIPE, **how):
    return subprocess.run([*launcher, RIESZ, *words], stdout=out, stderr=subprocess.PIPE, text=True, check=False, **how)


def ends(words, status, out="", err="", **how):
    """It ends with this status; what it prints on its two outputs matches, and is nothing where nothing is given."""
    done = run(*words, **how)
    for text, rule in ((done.stdout, out), (done.stderr, err)):
        expect(re.search(rule, text, re.M) if rule else not text, words, "printed", repr(text[:300]), "not", repr(rule))
    expect(done.returncode == status, words, "ended with", done.returncode, "not", status, done.stderr[:300])
    return done.stdout


def usage():
    for words in (["--version"], ["--help"], ["help"], ["help", "train"], ["generate", "--help"], ["man"]):
        ends(words, 0, "riesz|Usage", env=NO_MPI)
    ends(["--version"], 0, r"^riesz [0-9.]+.*\nLibTorch 2.11.0\nMPI .+\ntransports: ")
    names = ends(["--help"], 0, "^  train ").split("Subcommands:")[1]
    commands = re.findall(r"^  ([a-z-]+) ", names, re.M)
    expect(len(commands) == 14, commands)
    ends(["trian"], 2, err='no command "trian"; did you mean "train"')
    ends(["fly"], 2, err='no command "fly", only train, generate, .* or man; see riesz --help')
    ends([], 2, err="name a command: train, ")
    for command in commands[:10]:
        ends([command, "--there-is-none"], 2, err=f"^riesz: {command}: .*see riesz {command} --help$", env=NO_MPI)
    ends(["train", CONFIG, "--resmue"], 2, err='no option "--resmue"; did you mean --resume')
    ends(["train", CONFIG, "--resume=yes"], 2, err=r'^riesz: train: --resume takes no value, and has "yes": write --resume alone')
    ends(["train", CONFIG, "train.step=3"], 2, err=r'^riesz: train: .*unknown key "train.step"; did you mean "train.steps"')
    ends(["train", CONFIG, "layout=dp2.tp"], 2, err='where "tp" is no extent; it must be axes')
    ends(["train", CONFIG, "layout=dp2.dp2"], 2, err="which names dp twice")
    ends(["explain", CONFIG, "--all", "--rank", "2"], 2, err="--rank has no effect beside it")
    ends(["generate", "F", "x", "--batch-size", "0"], 2, err="'0' must be an integer, 1 or more")
    ends(["generate", "F", "x", "layout.zero=1"], 2, err="layout.zero is a setting of trainings alone")
    ends(["fly"], 2, err=r"\Ariesz: .*\n\Z", launcher=[MPIRUN, "-n", "2"])
    ends(["train", "-n", "2", CONFIG], 2, err="a launcher has started these already", launcher=[MPIRUN, "-n", "2"])


def scripts():
    bash = ends(["completion", "bash"], 0, "complete -o default -F _riesz riesz")
    expect(subprocess.run(["bash", "-n"], input=bash, text=True, check=False).returncode == 0, "bash's completion")
    asked = bash + 'COMP_WORDS=(riesz generate --max); COMP_CWORD=2; _riesz; echo "${COMPREPLY[*]}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=False)
    expect(done.stdout == "--max-tokens\n", "bash completes", done)
    ends(["completion", "zsh"], 0, "^#compdef riesz")
    ends(["completion", "fish"], 0, "^complete -c riesz -n '__fish_seen_subcommand_from train' -l resume")
    ends(["completion", "sh"], 2, err="name a shell, bash, zsh or fish")
    ends(["help", "keys"], 0, r"^  train\.steps +1000 ")
    tables_on_a_page(["help", "--markdown"], "commands.md", "^### riesz plan-memory$")
    tables_on_a_page(["help", "keys", "--markdown"], "training.md", r"^\| `train\.steps` \| `1000` \| ")


def tables_on_a_page(words, name, line):
    tables = ends(words, 0, line)
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / name
    if page.exists():
        expect(tables in page.read_text(), f"docs/reference/{name} has not what `riesz {' '.join(words)}` prints")


def forms():
    step = json.loads(ends(["explain", CONFIG, "layout=dp2.tp2", "--json"], 0, "{"))
    expect(step["in_all"]["elements"] == sum(line["elements"] for line in step["sends"]) > 0, "explain --json", step["in_all"])
    every = json.loads(ends(["explain", CONFIG, "--all", "--json"], 0, "{"))
    expect(len(every["ranks"]) == 4, "explain --all --json")
    memory = json.loads(ends(["plan-memory", CONFIG, "--json"], 0, "{"))["bytes_of_a_rank"]
    expect(abs(sum(memory.values()) - 2 * memory["in all"]) < 1, "plan-memory --json", memory)
    table = json.loads(ends(["schedule", "gpipe", "--stages", "2", "--micro-batches", "2", "--json"], 0, "{"))
    expect(len(table["of_workers"]) == 2 and len(table["of_workers"][0]["actions"]) == 4, "schedule --json")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = run("explain", CONFIG, out=full)
        expect(done.returncode == 71 and "cannot write to standard output: No space left" in done.stderr, done)


def ranks():
    """One command that starts its own ranks, in both spellings of a layout; and outputs of their own."""
    words = ["train", CONFIG, *SMALL]
    there = os.path.join(FOLDER, "launched")
    text = ends([*words, "-n", "2", "layout=dp2.tp1", f"output.folder={there}"], 0, "^step 4/4 .*took ")
    quiet = ends([*words, "--ranks=2", "layout.dp=2", "layout.tp=1", "--quiet", f"output.folder={there}"], 0, "^speed ")
    expect("step 4/4" not in quiet and "rank" in text, "train --quiet", quiet)
    made = os.path.join(FOLDER, "tokens")
    ends(["tokenize", TEXT, "-o", made, "--vocab-size", "300"], 0, r"\A1 documents?, ", "part 1/1 of rank 0")
    ends(["tokenize", TEXT, "-o", made, "--tokenizer", made, "--quiet"], 0, r"\A1 documents?, ")


def inputs():
    """A message cuts what is long, and names a link to itself, whatever it is given for."""
    trained, loop, letters = os.path.join(FOLDER, "launched"), os.path.join(FOLDER, "loop"), "L" * 100_000
    if not os.path.islink(loop):
        os.symlink("loop", loop)
    for words in (["schedule", letters, "--stages", "2", "--micro-batches", "2"], ["explain", CONFIG, "--layer", letters],
                  ["generate", letters, "x"], ["evaluate", trained, letters], ["classify", letters, "x"]):
        done = run(*words)
        expect(done.returncode != 0 and 0 < len(done.stderr) < 2000, words[0], "printed", len(done.stderr), "bytes", done.stderr[:300])
    made, tokens = os.path.join(FOLDER, "tokens of a loop"), os.path.join(FOLDER, "tokens.toml")
    pathlib.Path(tokens).write_text('[data]\ntask = "tokens"\ntokens = "loop"\n', encoding="utf-8")
    for words in (["generate", loop, "x"], ["evaluate", trained, loop], ["tokenize", TEXT, "-o", made, "--tokenizer", loop + "/t"],
                  ["train", CONFIG, f"model.from={loop}"], ["train", tokens]):
        done = run(*words)
        expect(done.returncode != 0 and 'loop' in done.stderr and '": Too many levels of symbolic links' in done.stderr
               and "filesystem error" not in done.stderr, words, "printed", repr(done.stderr[:300]))


def limits():
    """A file that is longer than the process may write, and than the MPI library's own, is an error that says so."""
    drawn = os.path.join(FOLDER, "drawn.svg")
    ends(["schedule", "gpipe", "--stages", "64", "--micro-batches", "1300", "--svg", drawn], 71, "",
         "drawn.svg.: File too large .this process may write files of at most 20480000 bytes",
         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20480000, 20480000)))
    expect(not os.path.exists(drawn), drawn)


def doctor():
    """It starts its own ranks, and finds nothing wrong with the mathematics."""
    found = json.loads(ends(["doctor", "-n", "3", "--json"], 0, "^{"))
    expect(len(found["hosts"]) == 1 and len(found["links"]) == 3 and len(found["adjoints"]) == 5, "doctor", found)
    for finding in found["adjoints"] + found["training"]:
        expect(finding["remedy"] == "", "doctor", finding)
    ends(["doctor"], 0, r"^rank 0 to rank 1|^  rank 0 to rank 1 +(shared memory|MPI), [0-9]+ us")


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
usage()
scripts()
forms()
ranks()
inputs()
limits()
doctor()
shutil.rmtree(FOLDER)
if faults:
    sys.exit(1)
print("the program says what it should")
