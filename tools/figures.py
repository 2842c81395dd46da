#!/usr/bin/env python3
"""Every measured number of README and docs, made again and compared.

    tools/figures.py RANKFALL check [NAME...]     exit 1 if a figure is stale, or a number is neither measured nor known
    tools/figures.py RANKFALL write [NAME...]     puts what is measured now into the tables

Tables stand in docs between <!-- figures: NAME --> and <!-- end -->; tools/figures_tables/ makes them from results of the
commands that the docs name. Numbers in sentences are in tools/figures_facts.py, each with its sentence. Everything else that
looks like a number (definitions, published values, sizes) is listed in tools/figures_known.txt, so that a new one must be put
into one of the three.

Results are kept in build/figures by command and program, so that a second run takes seconds. Trained checkpoints are taken
from $RANKFALL_MODELS; without it what needs them is left out, which is said. On another kind of CPU the last digits may differ:
a number agrees within 1.5 units of its last digit or within the tolerance of its table."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CACHE = ROOT / "build" / "figures"
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-−+]?\d+)?(?![\w])")
BLOCK = re.compile(r"<!-- figures: ([\w-]+)(?: ±(\d+) ?%)? -->\n(.*?)<!-- end -->", re.S)


class Missing(Exception):
    """What a figure needs is not on this machine."""


class Program:
    """Runs rankfall; a result is made once for each command line."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        self.digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
        library = sorted(self.path.parent.parent.glob("**/librankfall.so*"))
        for file in library[:1]:
            self.digest += hashlib.sha256(file.read_bytes()).hexdigest()[:16]

    def rows(self, command):
        """The rows of `rankfall COMMAND`, a list of dictionaries."""
        return self.result(command)["rows"]

    def result(self, command):
        file = CACHE / (hashlib.sha256(f"{self.digest} {command}".encode()).hexdigest()[:24] + ".json")
        if not file.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(".part.json")
            print(f"rankfall {command}", file=sys.stderr)
            words = [str(self.path), *split(command), "-q", "-o", str(part)]
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
            if done.returncode not in (0, 5):
                raise RuntimeError(f"rankfall {command}: exit {done.returncode}: {done.stderr.strip()}")
            part.rename(file)
        return json.loads(file.read_text())

    def trained(self, training, options):
        """The rows of `rankfall effectiveness` for what `rankfall train TRAINING` makes."""
        return self.rows(f"effectiveness {self.train(f'train {training} --resume')} {options}")

    def train(self, arguments, env=None):
        """The directory of what `rankfall ARGUMENTS -o DIRECTORY` trains, with an environment added."""
        words = f"{self.digest} {arguments} {sorted((env or {}).items())}"
        directory = CACHE / ("train-" + hashlib.sha256(words.encode()).hexdigest()[:24])
        if not (directory / "done").exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            print(f"rankfall {arguments} {env or ''}", file=sys.stderr)
            command = [str(self.path), *arguments.split(), "-o", str(directory), "--quiet"]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
            (directory / "done").touch()
        return directory

    def reproduced(self, name):
        """The rows of a part of `rankfall reproduce`."""
        directory = CACHE / f"reproduction-{self.digest[:24]}"
        if not (directory / "done").exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            print("rankfall reproduce", file=sys.stderr)
            words = [str(self.path), "reproduce", "-q", "-o", str(directory)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            (directory / "done").touch()
        return json.loads((directory / "results" / f"{name}.json").read_text())["rows"]

    def with_config(self, name, config):
        """A directory, as seen from the project's, with this config.json: NAME@init draws its weights."""
        folder = CACHE / "configs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        return folder.relative_to(ROOT)

    def script(self, path):
        """What a script of the tree prints, given the program."""
        file = CACHE / (hashlib.sha256(f"{self.digest} {path}".encode()).hexdigest()[:24] + ".txt")
        if not file.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            print(path, file=sys.stderr)
            done = subprocess.run([str(ROOT / path), str(self.path)], cwd=ROOT, check=True, capture_output=True, text=True)
            file.write_text(done.stdout)
        return file.read_text()


def split(command):
    """Words of a command line; {models} is where trained checkpoints lie."""
    if "{models}" in command:
        models = os.environ.get("RANKFALL_MODELS")
        if not models:
            raise Missing("RANKFALL_MODELS is not set")
        command = command.replace("{models}", models)
    return command.split()


def numbers_of(text):
    return [m.group() for m in NUMBER.finditer(text)]


def value_of(text):
    return float(text.replace(",", "").replace("−", "-"))


def unit_of(text):
    """One unit of the last digit that is written."""
    mantissa, _, exponent = text.replace(",", "").replace("−", "-").partition("e")
    digits = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - digits)


def agrees(written, now, tolerance):
    a, b = value_of(written), value_of(now)
    return abs(a - b) <= max(1.5 * max(unit_of(written), unit_of(now)), tolerance * max(abs(a), abs(b)))


def differences(written, now, tolerance):
    """Why two texts are not the same figures; an empty list if they are."""
    words = [re.sub(r"\s+", " ", NUMBER.sub("N", text)).strip() for text in (written, now)]
    if words[0] != words[1]:
        old, new = written.splitlines(), now.splitlines()
        for a, b in zip(old, new):
            if NUMBER.sub("N", a).split() != NUMBER.sub("N", b).split():
                return [f"written: {a.strip()}\n      now:     {b.strip()}"]
        return [f"{len(old)} lines are written, {len(new)} now"]
    found = []
    for a, b in zip(numbers_of(written), numbers_of(now)):
        if not agrees(a, b, tolerance):
            found.append(f"{a} is written, now {b}")
    return found


def main():
    sys.path.insert(0, str(ROOT / "tools"))
    import figures_facts
    import figures_tables

    if len(sys.argv) < 3 or sys.argv[2] not in ("check", "write"):
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    write = sys.argv[2] == "write"
    only = set(sys.argv[3:])
    stale, checked, left_out = 0, 0, {}
    # Output in the README is compared by tools/check_readme.
    covered = {doc: re.sub(r"^```console\n.*?^```$", "", doc.read_text(), flags=re.S | re.M) for doc in DOCS}

    for doc in DOCS:
        text = doc.read_text()
        for match in BLOCK.finditer(text):
            name, percent, written = match.group(1), match.group(2), match.group(3)
            covered[doc] = covered[doc].replace(match.group(), "")
            if only and name not in only:
                continue
            try:
                now = getattr(figures_tables, name.replace("-", "_"))(program)
            except Missing as missing:
                left_out.setdefault(str(missing), []).append(name)
                continue
            checked += 1
            problems = differences(written, now, int(percent or 0) / 100)
            if problems and write:
                head = match.group()[: match.start(3) - match.start()]
                text = text.replace(match.group(), head + now + "<!-- end -->")
                print(f"{doc.name}: {name}: written anew")
            elif problems:
                stale += 1
                print(f"{doc.name}: {name} is stale:")
                for problem in problems[:5]:
                    print(f"      {problem}")
        if write:
            doc.write_text(text)

    for fact in figures_facts.FACTS:
        doc = ROOT / fact.doc
        pattern = r"\s+".join(re.escape(word) for word in fact.sentence.split()).replace(r"\{\}", f"({NUMBER.pattern})")
        match = re.search(pattern, doc.read_text())
        if not match:
            stale += 1
            print(f"{fact.doc}: the sentence is gone: {fact.sentence}")
            continue
        covered[doc] = covered[doc].replace(match.group(), "")
        if only and fact.name not in only:
            continue
        try:
            now = fact.values(program)
        except Missing as missing:
            left_out.setdefault(str(missing), []).append(fact.name)
            continue
        checked += 1
        for written, value in zip(match.groups(), now, strict=True):
            unit = unit_of(written)
            if abs(value_of(written) - value) > max(0.75 * unit, fact.tolerance * abs(value)):
                stale += 1
                print(f"{fact.doc}: {written} is written, now {value:.6g}: {fact.sentence}")

    known = {}
    for line in (ROOT / "tools" / "figures_known.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            doc, _, words = line.partition(": ")
            known.setdefault(doc, []).extend(words.split())
    for doc in DOCS:
        left = numbers_of(re.sub(r"\[[^]]*\]\([^)]*\)", "", covered[doc]))
        new = [n for n in left if n not in known.get(doc.name, [])]
        if new and not only:
            if write:
                print(f"{doc.name}: {' '.join(sorted(set(new)))}")
                continue
            stale += 1
            print(f"{doc.name}: numbers that are neither measured nor known: {' '.join(sorted(set(new))[:20])}")

    for why, names in left_out.items():
        print(f"left out, {why}: {', '.join(names)}")
    print(f"figures: {checked} looked at, {stale} stale")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
