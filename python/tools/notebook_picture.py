#!/usr/bin/env python3
"""notebook_picture.py NOTEBOOK OUT.png [WIDTH HEIGHT]: executes a notebook and takes a picture of it, as Jupyter shows it.

Needs python3-nbconvert and chromium. docs/notebook.png: `./run python python/tools/notebook_picture.py
examples/notebooks/1_quickstart.ipynb docs/notebook.png`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter


def main() -> None:
    notebook, out = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    width, height = (sys.argv[3], sys.argv[4]) if len(sys.argv) > 4 else ("900", "1150")
    content = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(content, timeout=600, resources={"metadata": {"path": folder}}).execute()
        page = Path(folder) / "page.html"
        page.write_text(HTMLExporter().from_notebook_node(content)[0], encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
        subprocess.run(
            ["chromium", *options, "--virtual-time-budget=20000", f"--window-size={width},{height}", f"--screenshot={out}", page.as_uri()],
            check=True, capture_output=True,
        )


if __name__ == "__main__":
    main()
