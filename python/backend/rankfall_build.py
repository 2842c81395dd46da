"""A PEP 517 backend that calls CMake and packs a wheel: the module, the shared library and the command.

It needs nothing from PyPI. Environment: RANKFALL_NATIVE=0 compiles for any x86-64 CPU instead of this one (results then
differ in their last digits), RANKFALL_WHEEL_BUILD names the build directory (default: build/release of the source tree,
so that what ./run compiled is used again).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
NEEDED = "g++ cmake ninja-build pybind11-dev python3-dev libeigen3-dev libopenblas-pthread-dev (all: tools/setup.sh)"


def version() -> str:
    """The version is written once, in project() of CMakeLists.txt."""
    found = re.search(r"project\(\s*rankfall\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if found is None:
        raise SystemExit("rankfall: no version in CMakeLists.txt")
    return found[1]


def _metadata() -> str:
    return (
        "Metadata-Version: 2.1\n"
        "Name: rankfall\n"
        f"Version: {version()}\n"
        "Summary: The reference instrument for rank collapse in transformers\n"
        "License: Apache-2.0\n"
        "Requires-Python: >=3.9\n"
        "Requires-Dist: numpy>=1.23\n"
        "Provides-Extra: all\n"
        "Requires-Dist: pandas ; extra == 'all'\n"
        "Requires-Dist: tqdm ; extra == 'all'\n"
        "Requires-Dist: torch ; extra == 'all'\n"
        "Description-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text(encoding="utf-8")
    )


def _tag() -> str:
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _call(command: List[str]) -> None:
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        raise SystemExit(f"rankfall: {command[0]} is missing. Debian packages: {NEEDED}") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"rankfall: {' '.join(command)} failed ({error.returncode}). Debian packages: {NEEDED}") from None


def _build() -> Path:
    """Compiles, and returns the build directory."""
    directory = Path(os.environ.get("RANKFALL_WHEEL_BUILD", ROOT / "build" / "release"))
    options = ["-DRANKFALL_PYTHON=ON", f"-DPython3_EXECUTABLE={sys.executable}", "-DRANKFALL_WERROR=OFF"]
    if os.environ.get("RANKFALL_NATIVE") == "0":
        options.append("-DRANKFALL_NATIVE=OFF")
    if not (directory / "build.ninja").exists():
        options += ["-DRANKFALL_BUILD_TESTS=OFF", "-DRANKFALL_BUILD_BENCH=OFF"]
    _call(["cmake", "--preset", "release", "-B", str(directory), *options])
    _call(["cmake", "--build", str(directory), "--target", "rankfall_programs", "rankfall_python"])
    return directory


def _files(build: Path, scratch: Path) -> Dict[str, Path]:
    """What the wheel holds: name in it, and file."""
    files: Dict[str, Path] = {}
    package = build / "python" / "rankfall"
    for path in sorted(package.iterdir()):
        if path.suffix in (".py", ".pyi", ".so", ".js", ".typed") or path.name == "py.typed":
            files[f"rankfall/{path.name}"] = path.resolve()
    if not any(name.endswith(".so") for name in files):
        raise SystemExit(f"rankfall: no compiled module in {package}")
    files["rankfall/bin/rankfall"] = build / "cli" / "rankfall"
    train = build / "cli" / "rankfall-train"
    if train.exists():
        files["rankfall/bin/rankfall-train"] = train
    (library,) = (build / "lib").glob("librankfall.so.[0-9]*.[0-9]*.[0-9]*")
    soname = ".".join(library.name.split(".")[:3])
    files[f"rankfall/lib/{soname}"] = library
    for name, path in files.items():  # symbols of the C++ inside are of no use here
        if name.endswith((".so", "rankfall", "rankfall-train")) or ".so." in name:
            copy = scratch / name.replace("/", "_")
            shutil.copy2(path, copy)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
            files[name] = copy
    return files


class _Wheel:
    """A zip file with its record."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record: List[str] = []

    def add(self, name: str, data: bytes, executable: bool = False) -> None:
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        self._zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info: str) -> None:
        self._record.append(f"{info}/RECORD,,")
        self._zip.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0)), "\n".join(self._record) + "\n")
        self._zip.close()


def _dist_info() -> str:
    return f"rankfall-{version()}.dist-info"


def _info_files() -> Dict[str, str]:
    return {
        "METADATA": _metadata(),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: rankfall_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n",
        "entry_points.txt": "[console_scripts]\nrankfall = rankfall.__main__:main\n",
        "top_level.txt": "rankfall\n",
    }


def get_requires_for_build_wheel(config_settings: Optional[Dict[str, str]] = None) -> List[str]:
    return []


def get_requires_for_build_sdist(config_settings: Optional[Dict[str, str]] = None) -> List[str]:
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Optional[Dict[str, str]] = None) -> str:
    directory = Path(metadata_directory) / _dist_info()
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in _info_files().items():
        (directory / name).write_text(text, encoding="utf-8")
    return directory.name


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, str]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    build = _build()
    name = f"rankfall-{version()}-{_tag()}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _Wheel(Path(wheel_directory) / name)
        for inside, path in _files(build, Path(scratch)).items():
            wheel.add(inside, path.read_bytes(), executable=os.access(path, os.X_OK))
        for inside, text in _info_files().items():
            wheel.add(f"{_dist_info()}/{inside}", text.encode())
        wheel.add(f"{_dist_info()}/LICENSE", (ROOT / "LICENSE").read_bytes())
        wheel.close(_dist_info())
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, str]] = None) -> str:
    base = f"rankfall-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for name in sorted(n for n in listed.decode().split("\0") if n):
            archive.add(ROOT / name, f"{base}/{name}")
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as info:
            info.write(_metadata())
            info.flush()
            archive.add(info.name, f"{base}/PKG-INFO")
    return f"{base}.tar.gz"
