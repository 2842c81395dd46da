"""run_notebooks.py [--write]: executes examples/notebooks; every cell must run. --write keeps the outputs."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    notebooks = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
    if not notebooks:
        sys.exit("no notebooks")
    os.environ.update(PYTHONWARNINGS="ignore", PYDEVD_DISABLE_FILE_VALIDATION="1")
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
        outputs = sum(len(cell.get("outputs", [])) for cell in notebook.cells)
        print(f"{path.name}: {len(notebook.cells)} cells, {outputs} outputs")
        if "--write" in sys.argv:
            for cell in notebook.cells:
                for output in cell.get("outputs", []):
                    data = output.get("data", {})
                    if "text/html" in data:  # the interactive chart is half a megabyte; the text says the same
                        del data["text/html"]
                cell.get("metadata", {}).pop("execution", None)
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
