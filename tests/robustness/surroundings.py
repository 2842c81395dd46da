#!/usr/bin/env python3
"""surroundings.py RANKFALL [--all]: every command in poor surroundings, at a tiny size.

Descriptors 0, 1 and 2 closed, one by one and together, or on a full disk; 200, 400 and 800 MB of addresses; names full of escape
sequences on a terminal; fewer threads than it asks for. The command does its work or says why not with the right exit code: a closed standard input or
standard error changes neither the output nor the exit code; without standard output the file is still written.
"""

import itertools
import json
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile

NOBODY = 65534
rankfall = str(pathlib.Path(sys.argv[1]).resolve())
everything = "--all" in sys.argv[2:]
failures = 0


def fail(text: str) -> None:
    global failures
    failures += 1
    print(f"FAILED: {text}")


def run(words, closed=(), full=(), megabytes=None, threads=None, folder=".", program=None, env=None):
    """Exit code (negative: a signal), standard output, standard error."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:

        def prepare():
            for descriptor in full:
                os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)
            for descriptor in closed:
                os.close(descriptor)
            if megabytes:
                resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if threads:
                resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
                if os.getuid() == 0:  # whom no such limit binds
                    os.setgid(NOBODY), os.setuid(NOBODY)

        environment = {**os.environ, **env} if env else None
        child = subprocess.Popen(
            [program or rankfall, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, preexec_fn=prepare,
            close_fds=True, env=environment,
        )  # fmt: skip
        try:
            status = child.wait(timeout=120)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return "no end", "", ""
        out.seek(0), err.seek(0)
        return status, out.read().decode(errors="replace"), err.read().decode(errors="replace")


tiny = ["--samples", "1", "--tokens", "8"]
small = ["bert-tiny@init", *tiny]
# What each command is given, and whether -o FILE writes its result. {out} is the file.
commands = {
    "measure": [*small],
    "collapse": [*small],
    "paths": [*small, "--lengths"],
    "counts": ["2", "3"],
    "theory": [*small],
    "bounds": [*small],
    "audit": ["--claims", "1"],
    "lowrank": [*small, "--lengths", "8,16", "--draws", "10"],
    "capture": [*small, "-o", "{out}.safetensors"],
    "parity": ["bert-tiny@init", "--ids", "ids.json", "--reference", "reference.safetensors"],
    "tokens": ["model", "--text", "text.txt"],
    "report": ["result.json", "-o", "{out}.html", "--no-charts"],
    **({"bench": ["bert-tiny@init", "--rounds", "1", *tiny]} if "--all" in sys.argv[2:] else {}),  # six seconds each
    "doctor": [],
    "reproduce": ["--only", "fig5", "-o", "{out}"],
    "metrics": [],
    "models": [],
    "help": ["measure"],
    "version": [],
    "manual": [],
    "completion": ["bash"],
    "train": ["sort", "--quick", "--train", "20", "--eval", "5", "--layers", "1", "--epochs", "1", "-o", "{out}"],
    "circle": ["--quick", "--dim", "4", "-o", "{out}.json"],
    "effectiveness": ["trained", "--samples", "2"],
}
no_result_file = {"capture", "report", "doctor", "reproduce", "metrics", "models", "help", "version", "manual", "completion", "train", "circle", "bench"}
changes = {"bench", "doctor"}  # prints times


def prepare_files() -> bool:
    pathlib.Path("ids.json").write_text("[[1, 2, 3, 4], [5, 6, 7, 8]]")
    pathlib.Path("text.txt").write_text("one two three\n")
    pathlib.Path("model").mkdir()
    pathlib.Path("model/vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\nthree\n")
    pathlib.Path("model/config.json").write_text(
        '{"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,'
        ' "vocab_size": 8, "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,'
        ' "initializer_range": 0.02}'
    )
    for words in (
        ["measure", *small, "-q", "-o", "result.json"],
        ["capture", "bert-tiny@init", "--ids", "ids.json", "-q", "-o", "reference.safetensors"],
    ):
        status, _, err = run(words)
        if status != 0:
            sys.exit(f"{words}: exit {status}: {err}")
    status, _, err = run(["train", "sort", "--quick", "--train", "20", "--eval", "5", "--layers", "1", "--epochs", "1", "-o", "trained"])
    return status == 0


def words_of(name, number):
    return [name, *(word.replace("{out}", f"out{number}") for word in commands[name])]


def descriptors(name, numbers):
    status, expected, err = run(words_of(name, next(numbers)))
    if status != 0:
        fail(f"{name}: exit {status}: {err[:500]}")
        return
    together = [closed for n in (2, 3) for closed in itertools.combinations((0, 1, 2), n)]
    for closed in [(0,), (1,), (2,), *(together if everything else together[-1:])]:
        status, out, err = run(words_of(name, next(numbers)), closed=closed)
        wanted = (0, 3) if 1 in closed else (0,)
        if status not in wanted:
            fail(f"{name} with descriptors {closed} closed: exit {status}: {err[:300]}")
        elif 1 not in closed and name not in changes and "{out}" not in str(commands[name]) and out != expected:
            fail(f"{name} with descriptors {closed} closed prints something else")
    for full in ((1,), (2,), (1, 2)) if everything else ((1,), (2,)):
        status, out, err = run(words_of(name, next(numbers)), full=full)
        if status != (3 if 1 in full else 0):
            fail(f"{name} with descriptors {full} on a full disk: exit {status}: {err[:300]}")
    if name not in no_result_file:
        for closed in ((1,), (2,), (0, 1, 2)) if everything else ((1,),):
            file = pathlib.Path(f"result{next(numbers)}.json")
            status, _, err = run([*words_of(name, 0), "-q", "-o", str(file)], closed=closed)
            if status != 0 or not file.exists() or not json.loads(file.read_text())["rows"]:
                fail(f"{name} -q -o with descriptors {closed} closed: exit {status}, file {file.exists()}: {err[:300]}")


def memory(name, numbers):
    for megabytes in (200, 400, 800):
        status, _, err = run(words_of(name, next(numbers)), megabytes=megabytes)
        if status == 127:
            continue  # the loader had no room for the libraries
        if status not in (0, 4) or (status == 4 and "memory" not in err):
            fail(f"{name} with {megabytes} MB: exit {status}: {err[:300]}")


def few_threads() -> None:
    """Threads that cannot be made: it goes on with fewer, and finds the same."""
    words = ["measure", "bert-tiny@init", "--samples", "4", "--tokens", "8", "--threads", "4"]
    expected = run(words)[1]
    if os.getuid() == 0 and not readable_for_others(pathlib.Path(rankfall)):
        print("few threads: not tried, another user cannot read the program")
        return
    for threads in (1, 2, 3):
        status, out, err = run(words, threads=threads, folder="/", env={"OPENBLAS_NUM_THREADS": "1"})
        if status != 0 or out != expected:
            fail(f"measure where {threads} threads are allowed: exit {status}: {err[:300]}")


def readable_for_others(path: pathlib.Path) -> bool:
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def train_finds_its_command_by_itself() -> None:
    """Not by a variable that a stranger may have set."""
    program = pathlib.Path(rankfall).with_name("rankfall-train")
    if not program.exists():
        return
    pathlib.Path("bad.sh").write_text("#!/bin/sh\ntouch executed\n")
    os.chmod("bad.sh", 0o755)
    words = ["train", "memorize", "--text", "text.txt", "--vocab", "model", "--quick", "--epochs", "1", "-o", "memorized"]
    run(words, program=str(program), env={"RANKFALL_COMMAND": str(pathlib.Path("bad.sh").resolve())})
    if pathlib.Path("executed").exists():
        fail("rankfall-train executes $RANKFALL_COMMAND")


ESCAPES = "a\x1b[31mred\x1b]0;title\x07\u009b31m\u202eb"


def on_terminal(words) -> str:
    """What a terminal gets."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(rankfall, [rankfall, *words])
    out = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.waitpid(pid, 0)
    os.close(terminal)
    return out.decode(errors="replace")


def escapes() -> None:
    folder = pathlib.Path(ESCAPES)
    folder.mkdir()
    for file in pathlib.Path("model").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "text.txt").write_text(f"one {ESCAPES} two\n")
    result = folder / "result.json"
    result.write_text(pathlib.Path("result.json").read_text().replace("bert-tiny@init", "\\u001b[31mbert\\u009b31m\\u202e"))
    bad = ESCAPES
    cases = [
        [bad],
        ["measure", bad],
        ["measure", f"{bad}@init", *tiny],
        ["measure", "bert-tiny@init", *tiny, "--format", "csv", "--variant", bad],
        ["measure", "bert-tiny@init", "--text", bad],
        ["measure", "bert-tiny@init", f"--{bad}"],
        ["measure", "bert-tiny@init", *tiny, "-o", f"{bad}/no/file.json"],
        ["measure", "bert-tiny@init", *tiny, "--metrics", bad],
        ["tokens", bad, "--text", str(folder / "text.txt")],
        ["tokens", bad, "--text", str(folder / "text.txt"), "--format", "csv"],
        ["tokens", bad, "--text", str(folder / "text.txt"), "--format", "json"],
        ["report", str(result), "-o", f"{bad}/page.html", "--no-charts"],
        ["report", f"{bad}/none.json"],
        ["capture", "bert-tiny@init", *tiny, "-o", f"{bad}/states.safetensors"],
        ["audit", "--check", f"{bad}/none.json"],
        ["reproduce", "--only", bad],
        ["train", "sort", "--quick", "--train", "20", "--eval", "5", "--layers", "1", "--epochs", "1", "-o", f"{bad}/trained"],
        ["train", bad],
        ["doctor", bad],
    ]
    for words in cases:
        text = on_terminal(words)
        for sign in ("\x1b[31m", "\x1b]0", "\x07", "\u009b", "\u202e"):
            if sign in text:
                fail(f"{words}: {sign!r} reaches the terminal: {text[:600]!r}")
                break


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if not prepare_files():
            print("skipped: train, circle, effectiveness, which were not built")
            for name in ("train", "circle", "effectiveness"):
                del commands[name]
        _, listed, _ = run(["--complete", ""])
        for name in listed.split():
            if not name.startswith("-") and name not in commands and name not in ("bench", "train", "circle", "effectiveness"):
                fail(f"the command {name} is not looked at")
        numbers = itertools.count()
        for name in commands:
            descriptors(name, numbers)
            memory(name, numbers)
        few_threads()
        train_finds_its_command_by_itself()
        escapes()
        os.chdir("/")
    print(f"{len(commands)} commands, {failures} failures")
    sys.exit(failures != 0)


main()
