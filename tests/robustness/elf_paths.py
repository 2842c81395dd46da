#!/usr/bin/env python3
"""elf_paths.py DIR...: where the programs and libraries of build and install trees look for libraries.

An element of RUNPATH or RPATH that is empty or relative is the current directory, or lies below it: a library in a stranger's
folder would be executed by whoever starts the program there. A folder that everyone may write to is no better. Every ELF file
below DIR is read by readelf; then each program called rankfall or rankfall-train is started in a folder that is full of
libraries with the right names and nothing in them.
"""

import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile


def is_elf(path: pathlib.Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def dynamic(path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The elements of RPATH and RUNPATH, and the names of the libraries that are needed."""
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    elements = [element for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*?\[(.*)\]", text) for element in paths.split(":")]
    return elements, re.findall(r"\(NEEDED\).*?\[(.*)\]", text)


def unprotected(path: pathlib.Path) -> list[str]:
    """What a program or library of ours lacks: tables of addresses that are read-only before anything else runs, a stack without code."""
    text = subprocess.run(["readelf", "-dlW", path], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    found = []
    if not re.search(r"\(BIND_NOW\)|\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW", text):
        found.append("-z now")
    if "GNU_RELRO" not in text:
        found.append("-z relro")
    if re.search(r"GNU_STACK.*RWE", text):
        found.append("a stack without code")
    return found


def everyone_writes(folder: pathlib.Path) -> bool:
    """To the folder, or to one above it where entries can be replaced (without the sticky bit)."""
    for place in (folder, *folder.parents):
        if place.exists():
            mode = place.stat().st_mode
            if mode & stat.S_IWOTH and (place == folder or not mode & stat.S_ISVTX):
                return True
    return False


def complaints(path: pathlib.Path) -> list[str]:
    found = []
    for element in dynamic(path)[0]:
        absolute = re.sub(r"^\$(ORIGIN|\{ORIGIN\})(?=/|$)", str(path.parent.resolve()), element)
        if not element:
            found.append("an empty element, which is the current directory")
        elif not absolute.startswith("/"):
            found.append(f"'{element}', which is relative")
        elif everyone_writes(pathlib.Path(os.path.normpath(absolute))):
            found.append(f"'{element}', where everyone may write")
    return found


def starts_among_false_libraries(program: pathlib.Path, names: set[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for below in ("", "glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3"):
            place = pathlib.Path(folder, below)
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                (place / name).write_text("not a library")
        run = subprocess.run([program.resolve(), "--help"], cwd=folder, capture_output=True, text=True, timeout=60)
        if run.returncode != 0:
            print(f"{program}: exit {run.returncode} where libraries lie in the current directory: {run.stderr.strip()[:300]}")
        return run.returncode == 0


def self_test() -> None:
    """A program with an empty element must be found out."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        for paths, expected in (("/usr/lib:", 1), ("lib", 1), ("$ORIGIN/../lib", 0), ("/tmp", 1), ("/usr/lib", 0)):
            subprocess.run(["g++", "-xc++", "-", "-o", program, f"-Wl,-rpath,{paths}"], input="int main() {}", text=True, check=True)
            if len(complaints(program)) != expected:
                sys.exit(f"self-test: RUNPATH {paths}: {complaints(program)}")


def main() -> None:
    self_test()
    files = [path for tree in sys.argv[1:] for path in sorted(pathlib.Path(tree).rglob("*")) if is_elf(path) and path.suffix != ".o"]
    failed = False
    names: set[str] = set()
    for path in files:
        names.update(dynamic(path)[1])
        for complaint in complaints(path):
            print(f"{path}: its path of libraries has {complaint}")
            failed = True
        if path.name in ("rankfall", "rankfall-train") or path.name.startswith("librankfall.so"):
            for lack in unprotected(path):
                print(f"{path}: was linked without {lack}")
                failed = True
    programs = [path for path in files if path.name in ("rankfall", "rankfall-train")]
    for program in programs:
        failed = not starts_among_false_libraries(program, names) or failed
    if not programs:
        sys.exit(f"no program below {' '.join(sys.argv[1:])}")
    print(f"{len(files)} ELF files, {len(programs)} programs started among {len(names)} false libraries")
    sys.exit(failed)


main()
