#!/usr/bin/env python3
"""How much of the readers the fuzz targets reach, as a table.

    tools/fuzz_coverage.py TARGETS [FOUND]

TARGETS is the directory of the targets (build/asan/fuzz); FOUND has a directory fuzz_NAME.found for each, with what longer
runs have added to the corpus (default: TARGETS, where ./test leaves it). Each target replays corpus and finds once; what is
counted are functions of the sources that read, and edges of their control flow, as libFuzzer's -print_coverage says. Edges that
only an exception from below takes (running out of memory, destructors on the way) are among them and are hardly ever reached."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READERS = {  # what of the tree a target is about
    "arrays": ["src/io/array_file.cc"],
    "config": ["src/network/config.cc", "src/network/families/"],
    "grid": ["src/base/grid.cc", "src/base/number_series.cc"],
    "image": ["src/input/image.cc"],
    "index": ["src/io/checkpoint_files.cc"],
    "json": ["src/io/json"],
    "npy": ["src/io/npy"],
    "preprocessing": ["src/input/image_inputs.cc"],
    "result": ["src/report/json_reader.cc"],
    "safetensors": ["src/io/safetensors.cc", "src/io/safetensors_header.cc"],
    "settings": ["src/train/settings.cc"],
    "spec": ["src/network/model_spec.cc", "src/network/attention/kinds.cc", "src/result/threshold.cc"],
    "task": ["src/studies/effectiveness/task_file.cc"],
    "text": ["src/input/text_source.cc"],
    "tokenizer": ["src/text/"],
    "witness": ["src/studies/audit/witness.cc"],
}
FUNCTION = re.compile(r"COVERED_FUNC: hits: (\d+) edges: (\d+)/(\d+) .* (\S+):\d+$")


def edges(target, found, name):
    inputs = [str(d) for d in (found / f"fuzz_{name}.found", ROOT / "fuzz" / "corpus" / name) if d.is_dir()]
    done = subprocess.run([str(target), "-runs=0", "-print_coverage=1", *inputs], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{target}: exit {done.returncode}\n{done.stderr[-2000:]}")
    called = functions = reached = total = 0
    for line in done.stderr.splitlines():
        match = FUNCTION.search(line)
        if match and any(reader in match.group(4) for reader in READERS[name]):
            called += match.group(1) != "0"
            functions += 1
            reached += int(match.group(2))
            total += int(match.group(3))
    n_inputs = sum(1 for directory in inputs for _ in Path(directory).iterdir())
    return n_inputs, called, functions, reached, total


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    targets = Path(sys.argv[1])
    found = Path(sys.argv[-1])
    print("| target | sources | inputs | functions reached | edges reached |\n|---|---|---|---|---|")
    for name, readers in READERS.items():
        n_inputs, called, functions, reached, total = edges(targets / f"fuzz_{name}", found, name)
        sources = ", ".join(f"`{reader}`" for reader in readers)
        share = f", {100 * reached / total:.0f} %" if total else ""
        print(f"| {name} | {sources} | {n_inputs} | {called} of {functions} | {reached} of {total}{share} |", flush=True)


if __name__ == "__main__":
    main()
