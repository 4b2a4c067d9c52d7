#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""command_line.py FOLDER MPIRUN RIESZ MANY CONFIG TEXT: what the program says of its commands and options, and of wrong ones.

MANY is many_command_lines, which carries out what starts no ranks.
"""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

from command_lines import CommandLines

FOLDER, MPIRUN, RIESZ, MANY, CONFIG, TEXT = sys.argv[1:]
LINES = CommandLines(MANY)
# An MPI that cannot start: what needs none is printed all the same.
NO_MPI = {"OMPI_MCA_pml": "there_is_none", "OMPI_MCA_osc": "there_is_none"}
SMALL = ["data.digits=1", "data.held_out=0.1", "model.layers=1", "train.batch=8", "train.steps=4", "train.eval_size=8",
         "schedule.warm_up=0"]
faults = 0


def expect(condition, *what):
    global faults
    if not condition:
        faults += 1
        print("wrong:", *what)


def run(*words, launcher=(), out=None, program=None, env=(), **how):
    """By the program that is named, or by riesz itself where the words may start ranks; else by MANY."""
    starts = words[:1] == ("doctor",) or "-n" in words or "--ranks=2" in words
    if not (launcher or program or how or starts):
        return LINES.run(*words, environment=env, out=out)
    with open(out, "w", encoding="utf-8") if out else contextlib.nullcontext(subprocess.PIPE) as stdout:
        return subprocess.run([*launcher, program or RIESZ, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, **dict(env)}, **how)


def ends(words, status, out="", err="", **how):
    """It ends with this status; what it prints on its two outputs matches, and is nothing where nothing is given."""
    done = run(*words, **how)
    for text, rule in ((done.stdout, out), (done.stderr, err)):
        expect(re.search(rule, text, re.M) if rule else not text, words, "printed", repr(text[:300]), "not", repr(rule))
    expect(done.returncode == status, words, "ended with", done.returncode, "not", status, done.stderr[:300])
    return done.stdout


def usage():
    for words in (["--version"], ["--help"], ["help"], ["help", "train"], ["generate", "--help"], ["man"], ["man", "--help"],
                  ["completion", "--help"], ["help", "completion"]):
        said = ends(words, 0, "riesz|Usage", env=NO_MPI)
        if words in (["--version"], ["generate", "--help"]):
            expect(said == ends(words, 0, "riesz|Usage", env=NO_MPI, program=RIESZ), words, "is another text by riesz itself")
    ends(["completion", "--help"], 0, "^Usage: riesz completion .*SHELL$")
    names = ends(["--help"], 0, "^  train ").split("Subcommands:")[1]
    commands = re.findall(r"^  ([a-z-]+) ", names, re.M)
    expect(len(commands) == 16, commands)
    tables = {part.split("\n")[0]: part for part in ends(["help", "--markdown"], 0, "^### riesz train$").split("### riesz ")}
    for command in commands:
        shown = ends([command, "--help"], 0, rf"^Usage: riesz {command}\b", env=NO_MPI)
        options = [name for row in re.findall(r"^\| `(-[^`]*)`", tables[command], re.M) for name in re.findall(r"-+[a-z][a-z-]*", row)]
        expect(options or command in ("completion", "man"), command, "has no options")
        for option in options:
            expect(re.search(rf"^  (-.*,)?{option}\b", shown, re.M), f"riesz {command} --help does not list {option}")
        if command in ("train", "generate", "evaluate", "classify", "predict", "explain", "plan-memory", "verify"):
            expect(re.search(r"^Usage: .* \[key=value\.\.\.\]$", shown, re.M) and " [key=value ...] [option ...]\n" in tables[command],
                   command, "does not show that it takes settings", shown[:300])
        ends([command, "--there-is-none"], 2, err=f'^riesz: {command}: there is no option .*see riesz {command} --help$', env=NO_MPI)
        if command not in ("help", "completion", "man"):
            ends([command, "--help"], 0, "^ +--quiet ")
    for words, says in WRONG:
        ends(words, 2, err=says, env=NO_MPI)
    for words, says in ([], "name a command: train, "), (["explain", CONFIG, "--rank", "9"], "there is no rank 9 among 4 workers"):
        ends(words, 2, err=says, env=NO_MPI, program=RIESZ)
    ends(["fly"], 2, err=r"\Ariesz: .*\n\Z", launcher=[MPIRUN, "-n", "2"])
    ends(["train", "-n", "2", CONFIG], 2, err="a launcher has started these already", launcher=[MPIRUN, "-n", "2"])
    ends(["explain", CONFIG, "--layer", "x"], 2, err="no layer x sends anything; these do: transformer.wte")


# Wrong usage, and what is said of it, before MPI starts.
WRONG = [
    ([], "name a command: train, "),
    (["trian"], 'no command "trian"; did you mean "train"'),
    (["fly"], 'no command "fly", only train, generate, .* or man; see riesz --help'),
    (["versoin"], 'no command "versoin"; did you mean --version?'),
    (["eval"], 'no command "eval"; did you mean "evaluate"?'),
    (["plan"], 'no command "plan"; did you mean "plan-memory"?'),
    (["--versoin"], 'no option "--versoin"; did you mean --version?'),
    (["--version", "x"], '--version is given alone, without "x"'),
    (["help", "trian"], 'no command "trian"; did you mean "train"'),
    (["man", "x"], "^riesz: man: .*not expected: x"),
    (["completion", "bash", "x"], "^riesz: completion: .*not expected: x"),
    (["completion", "sh"], "sh not in {bash,zsh,fish}"),
    (["train", CONFIG, "--resmue"], 'no option "--resmue"; did you mean --resume'),
    (["train", "--resum"], 'no option "--resum"; did you mean --resume'),
    (["train", CONFIG, "--batch-size", "8"], "did you mean the key train.batch=VALUE?"),
    (["train", CONFIG, "--resume=yes"], r'^riesz: train: --resume takes no value, and has "yes": write --resume alone'),
    (["train", CONFIG, "train.step=3"], r'^riesz: train: .*unknown key "train.step"; did you mean "train.steps"'),
    (["train", CONFIG, "layot=dp2"], 'did you mean "layout"'),
    (["train", CONFIG, "layout=dp2.tp"], 'where "tp" is no extent; it must be axes'),
    (["train", CONFIG, "layout=dp2.dp2"], "which names dp twice"),
    (["generate", "F", "x", "--temp", "1"], "did you mean --temperature?"),
    (["generate", "F", "x", "--tp", "2"], "did you mean the key layout.tp=VALUE?"),
    (["generate", "F", "x", "--batch-size", "0"], "'0' must be an integer, 1 or more"),
    (["generate", "F", "x", "--temperature", "-1"], "a temperature of -1; it is 0"),
    (["generate", "F", "x", "--top-p", "7"], "a top-p of 7; it is a probability"),
    (["generate", "F", "x", "--dtype", "fp31"], "fp31 not in {fp32,bf16,fp16}"),
    (["generate", "F", "x", "--n-predict", "0"], "'0' must be an integer"),
    (["generate", "F", "how", "are", "you"], "'are' is one word too many; .*; put a prompt of several words in quotes;"),
    (["evaluate", "F", "x", "y"], "'y' is one word too many; a setting of the layout is written as layout.tp=2;"),
    (["evaluate", "F"], "TEXT is required"),
    (["classify", "F"], "IMAGES is required"),
    (["classify", "F", "x", "layout.zero=1"], "layout.zero is a setting of trainings alone"),
    (["predict", "F"], "INPUTS is required"),
    (["predict", "F", "a.npy", "b.npy", "--tile", "-1"], "'-1' must be an integer, 0 or more"),
    (["plan-memory", CONFIG, "--tile", "64"], "say its rows and columns with --predict"),
    (["inspect"], "PATH is required"),
    (["verify"], "CONFIG.toml is required"),
    (["tokenize", TEXT], "--output is required"),
    (["convert", "x"], "--output is required"),
    (["doctor", "-n", "0"], "'0' must be an integer, 1 or more"),
    (["generate", "F", "x", "layout.zero=1"], "layout.zero is a setting of trainings alone"),
    (["evaluate", "F", "x", "--window", "4", "--stride", "8"], "--stride 8 is longer than --window 4"),
    (["convert", "--out"], 'no option "--out"; did you mean --output?'),
    (["convert", "a", "-o", "b", "--outtype", "int4"], "int4 not in {fp32,bf16,fp16}"),
    (["convert", "a", "-o", "b", "--max-shard-size", "0GB"], "'0' must be an integer, 1 or more"),
    (["tokenize", "--vocab"], "did you mean --vocab-size?"),
    (["tokenize", TEXT, "-o", "x"], r"give a tokenizer \(--tokenizer\), or how many .* \(--vocab-size\), and not both"),
    (["tokenize", TEXT, "-o", "x", "--vocab-size", "3"], "'3' must be an integer, 257 or more"),
    (["tokenize", TEXT, "-o", "x", "--vocab-size", "300", "--documents", "foo"], "foo not in {auto,file,line,jsonl}"),
    (["explain", CONFIG, "--all", "--rank", "2"], "--rank has no effect beside it"),
    (["explain", CONFIG, "--rank", "9"], "there is no rank 9 among 4 workers"),
    (["explain", "-n", "2", CONFIG], 'no option "-n": it is one process, and how many ranks it tells of the layout.. keys say'),
    (["plan-memory", CONFIG, "--ranks-per-host", "5"], "5 ranks on a host, of the 4 that the layout has"),
    (["plan-memory", CONFIG, "--host-memory", "0"], "holds nothing; say how much it has"),
    (["plan-memory", CONFIG, "--host-memory", "9", "device=cuda"], "--host-memory is of a host, and device = .cuda. .*leave out one"),
    (["schedule", "onef1b", "--stages", "2", "--micro-batches", "2"], "there is no schedule \"onef1b\"; there are gpipe"),
    (["schedule", "gpipe", "--stages", "2", "--micro-batches", "2", "--costs", "1,2"], "--costs is \"1,2\"; it must be"),
]


def version():
    """It names the commit: that of the clone, else what the environment of the build says."""
    root = pathlib.Path(__file__).parents[2]
    commit = r" \(commit [0-9a-f]+.*\)" if (root / ".git").exists() else ""
    ends(["--version"], 0, rf"^riesz [0-9.]+{commit}\nLibTorch 2.11.0\nMPI .+\ntransports: ")
    made = os.path.join(FOLDER, "commit.cpp")
    subprocess.run(["cmake", "-DSOURCE=/", "-DVERSION=1", f"-DOUTPUT={made}", "-P", root / "cmake" / "RieszCommit.cmake"],
                   env=dict(os.environ, RIESZ_COMMIT="0a1b2c"), check=True)
    expect('kCommit = "0a1b2c"' in pathlib.Path(made).read_text(), "RieszCommit.cmake", made)


def completes(shell, line, *expected):
    """What the shell's script offers for the words of a line, the last of which is begun."""
    words = line.split(" ")
    if shell == "bash":  # to which "=" is a word
        words = re.findall(r"[^ =]+|=|(?<= )$", line)
        asked = (f"COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words) - 1}; _riesz; "
                 'echo "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", SCRIPTS[shell] + asked], capture_output=True, text=True, check=False)
    elif shell == "zsh":  # with compadd and its like in place of zsh's own, called as at the first TAB of a shell
        asked = ("compadd() { while [[ $1 == -* ]]; do [[ $1 == -S ]] && shift; [[ $1 == -- ]] && { shift; break; }; shift; done; "
                 'print -- "$@" }; _describe() { print -- $commands }; _files() { }; fpath=(. $fpath); autoload -Uz _riesz; '
                 f"words=({' '.join(words[:-1])} '{words[-1]}'); CURRENT={len(words)}; _riesz")
        done = subprocess.run(["zsh", "-fc", asked], capture_output=True, text=True, check=False, cwd=FOLDER)
    else:
        asked = f"source {FOLDER}/riesz.fish; complete -C '{line}'"
        done = subprocess.run(["fish", "-N", "-c", asked], capture_output=True, text=True, check=False)
    offered = re.split(r"[\s:]+", done.stdout)
    for word in expected:
        expect(word in offered, shell, "completes", line, "with", done.stdout[:300], done.stderr[:300], "not", word)


SCRIPTS = {}


def scripts():
    for shell, file in (("bash", "riesz"), ("zsh", "_riesz"), ("fish", "riesz.fish")):
        SCRIPTS[shell] = ends(["completion", shell], 0, "complete|#compdef riesz")
        pathlib.Path(FOLDER, file).write_text(SCRIPTS[shell])
        if not shutil.which(shell):
            continue
        done = subprocess.run([shell, "-n", os.path.join(FOLDER, file)], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, shell, done.stderr)
        completes(shell, "riesz ev", "evaluate")
        completes(shell, "riesz generate FOLDER --max-t", "--max-tokens")
        completes(shell, "riesz generate FOLDER --precision ", "fp32", "bf16", "fp16")
        completes(shell, "riesz generate FOLDER --device ", "cpu", "cuda")
        completes(shell, "riesz train my.toml train.st", "train.steps=")
        completes(shell, "riesz train my.toml layout.tensor=2", *(["2d", "2.5d"] if shell == "bash" else ["layout.tensor=2d"]))
        completes(shell, "riesz completion ", "bash", "zsh", "fish")
        completes(shell, "riesz help pl", "plan-memory")
    ends(["help", "keys"], 0, r"^  train\.steps +1000 ")
    tables_on_a_page(["help", "--markdown"], "commands.md", "^### riesz plan-memory$")
    tables_on_a_page(["help", "environment", "--markdown"], "commands.md", r"^\| `RIESZ_DEADLINE` \| 600 \| ")
    tables_on_a_page(["help", "keys", "--markdown"], "training.md", r"^\| `train\.steps` \| `1000` \| ")


def manual():
    """Each key once; all sections; lines that a terminal has room for."""
    page = ends(["man"], 0, r"^\.TH RIESZ 1$")
    sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "KEYS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"]
    expect(re.findall(r"^\.SH (.*)$", page, re.M) == sections, "man", re.findall(r"^\.SH (.*)$", page, re.M))
    expect(page.count("\n.B train.steps\n") == 1, "man: train.steps")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=page, capture_output=True, text=True, check=False)
        long = [line for line in done.stdout.splitlines() if len(line) > 100]
        expect(not done.stderr and not long, "man", done.stderr, long[:3])


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
    # Host memory says nothing of GPUs, also where a training would not fit this host.
    ends(["plan-memory", CONFIG, "device=cuda", "train.batch=1000000000"], 0, "at least; on a GPU, whose memory is not compared")
    verified = json.loads(ends(["verify", CONFIG, "layout=dp2.tp2", "--json"], 0, "{"))
    expect(verified["right"] and verified["run"] == 4 and verified["messages"] > 0, "verify --json", verified)
    table = json.loads(ends(["schedule", "gpipe", "--stages", "2", "--micro-batches", "2", "--json"], 0, "{"))
    expect(len(table["of_workers"]) == 2 and len(table["of_workers"][0]["actions"]) == 4, "schedule --json")
    compared = json.loads(ends(["schedule", "gpipe", "--stages", "2", "--micro-batches", "2", "--json", "--quiet"], 0, "{"))
    expect(compared == table, "schedule --quiet")


def models():
    """What is said of a trained model, in JSON; and the note of which one is taken, which --quiet leaves out."""
    there = os.path.join(FOLDER, "launched")
    note = "^the model is that of .*checkpoint-4"
    inspected = json.loads(ends(["inspect", there, "--json"], 0, "{", note))
    expect(any(tensor["tensor"] == "transformer.wte.weight" for tensor in inspected["model"]), "inspect --json", inspected)
    expect(json.loads(ends(["inspect", there, "--json", "--quiet"], 0, "{")) == inspected, "inspect --quiet")
    sums = os.path.join(FOLDER, "sums")
    pathlib.Path(sums).write_text("12034105")
    evaluated = json.loads(ends(["evaluate", there, sums, "--json", "--quiet"], 0, "{"))
    expect(evaluated["tokens"] == 8 and evaluated["loss"] > 0, "evaluate --json", evaluated)
    ends(["generate", there, "12", "--max-new-tokens", "1", "--dtype", "bf16", "--quiet"], 0, r"\A[0-9]\n\Z")


def full():
    """What cannot be written is an error, also of a job; and a training has its report all the same."""
    there = os.path.join(FOLDER, "launched")
    small = ["train", CONFIG, *SMALL, "layout.tp=1"]
    sums = os.path.join(FOLDER, "sums")
    commands = [["--version"], ["help"], ["help", "keys"], ["train", "--help"], ["man"], ["completion", "bash"], ["explain", CONFIG],
                ["plan-memory", CONFIG], ["verify", CONFIG], ["evaluate", there, sums],
                ["tokenize", TEXT, "-o", f"{FOLDER}/full_tokens", "--vocab-size", "300"],
                ["convert", there, "-o", f"{FOLDER}/full_model"],
                ["schedule", "gpipe", "--stages", "2", "--micro-batches", "2"],
                ["inspect", there], ["generate", there, "12"], ["doctor"], ["generate", there, "12", "-n", "2", "layout.tp=2"],
                [*small, "layout.dp=1", f"output.folder={FOLDER}/full_1"],
                [*small, "layout.dp=2", "-n", "2", f"output.folder={FOLDER}/full_2"]]
    for words in commands:
        done = run(*words, out="/dev/full")
        expect(done.returncode == 71 and done.stderr.count("cannot write to standard output: No space left on device") == 1,
               words, done)
    for ranks in 1, 2:
        expect(os.path.exists(f"{FOLDER}/full_{ranks}/report.txt"), "the report on", ranks)
    # A reader that leaves is no failure of a job.
    done = subprocess.run(["bash", "-c", '"$@" | head -1 >/dev/null; exit "${PIPESTATUS[0]}"', "bash", RIESZ, *commands[-1]],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, "nobody reads", done)


def ranks():
    """One command that starts its own ranks, in both spellings of a layout; and outputs of their own."""
    words = ["train", CONFIG, *SMALL]
    there = os.path.join(FOLDER, "launched")
    text = ends([*words, "-n", "2", "layout=dp2.tp1", f"output.folder={there}"], 0, "^speed ", "^step 4/4 .*took ")
    expect("step 4/4" not in text and re.search(r"^the last checkpoint is .*checkpoint-4", text, re.M), "train", text)
    ends([*words, "--ranks=2", "layout.dp=2", "layout.tp=1", "--quiet", f"output.folder={there}"], 0, "^speed ")
    made = os.path.join(FOLDER, "tokens")
    ends(["tokenize", TEXT, "-o", made, "--vocab-size", "300"], 0, r"\A1 documents?, ", "part 1/1 of rank 0")
    ends(["tokenize", TEXT, "-o", made, "--tokenizer", made, "--quiet"], 0, r"\A1 documents?, ")


def without_tools():
    """Where riesz-tools is not built: training and the help of all commands are there, and an error names the target. A link
    finds it beside the program."""
    alone = os.path.join(FOLDER, "riesz")
    shutil.copy2(RIESZ, alone)
    for words in (["help"], ["generate", "--help"], ["completion", "bash"], ["man"]):
        expect(run(*words, program=alone).stdout == run(*words).stdout != "", words, "without riesz-tools")
    for words in (["generate", "FOLDER", "x"], ["doctor", "-n", "2"]):
        done = run(*words, program=alone)
        wanted = f'riesz: {words[0]} is in the program riesz-tools, and there is no "{FOLDER}/riesz-tools"; in a clone build it: '
        expect(done.returncode == 2 and done.stderr == wanted + "cmake --build build/release --target riesz_tools\n", done)
    there = os.path.join(FOLDER, "without_tools")
    done = run("train", CONFIG, *SMALL, "layout.dp=1", "layout.tp=1", f"output.folder={there}", program=alone)
    expect(done.returncode == 0 and "step 4/4" in done.stderr, "train without riesz-tools", done.stderr)
    os.remove(alone)
    os.symlink(RIESZ, alone)
    expect(run("schedule", "gpipe", "--stages", "2", "--micro-batches", "2", program=alone).returncode == 0, "by a link")
    os.remove(alone)


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
    gpus = [finding["found"] for finding in found["hosts"][0]["findings"] if finding["what"] == "GPUs"]
    expect(len(gpus) == 1 and re.match(r"(none|\d+), .*libriesz_cuda.so", gpus[0]), "doctor", gpus)
    remedies()
    ends(["doctor"], 0, r"^rank 0 to rank 1|^  rank 0 to rank 1 +(shared memory|MPI), [0-9]+ us")


def remedies():
    """What is wrong with a host, each with what to do."""
    poor = subprocess.run(["bash", "-c", 'ulimit -n 200; ulimit -v 100000000; exec "$@"', "bash", "taskset", "-c",
                           str(min(os.sched_getaffinity(0))), RIESZ, "doctor", "-n", "2"],
                          capture_output=True, text=True, check=False, env=dict(os.environ, OMP_NUM_THREADS="2"))
    expect(poor.returncode == 0, "doctor", poor.stderr)
    for line in (r"processors +1 for 2 ranks; OMP_NUM_THREADS 2 +<- ranks share processors.*; threads share processors: set OMP_NUM_THREADS to 1$",
                 r"limits +200 open files, .*<- raise ulimit -n to 1024 or more; ranks map much .*: ulimit -v unlimited$",
                 r"^look at the lines with <-$"):
        expect(re.search(line, poor.stdout, re.M), "doctor", line, poor.stdout)


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
usage()
version()
scripts()
manual()
forms()
ranks()
without_tools()
models()
full()
inputs()
limits()
doctor()
LINES.end()
shutil.rmtree(FOLDER)
if faults:
    sys.exit(1)
print("the program says what it should")
