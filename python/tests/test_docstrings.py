"""Every public name has a docstring with an example that runs, and a metric's docstring its formula."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import shutil
from pathlib import Path
from typing import Any, Dict, List

import pytest

import rankfall as rf
from conftest import DATA, run_command

FINDER = doctest.DocTestFinder(recurse=False)


def public_names() -> Dict[str, Any]:
    """All that `import rankfall` offers: names, and methods and properties of classes."""
    out: Dict[str, Any] = {}
    for name in rf.__all__:
        thing = getattr(rf, name)
        out[name] = thing
        if inspect.isclass(thing):
            for base in reversed(thing.__mro__[:-1]):
                for member, value in vars(base).items() if base.__module__.startswith("rankfall") else ():
                    public = not member.startswith("_") or member == "__getitem__"
                    if public and (isinstance(value, (staticmethod, property)) or inspect.isfunction(value)):
                        out[f"{name}.{member}"] = getattr(thing, member)
    return out


def text_of(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def examples_of(thing: Any) -> List[doctest.Example]:
    skipped = doctest.OPTIONFLAGS_BY_NAME["SKIP"]
    return [e for e in doctest.DocTestParser().get_examples(text_of(thing)) if not e.options.get(skipped)]


NAMES = public_names()


def all_docstrings() -> Dict[str, str]:
    """The docstrings with examples: of public names, and of whatever else the files of the module define."""
    out = {name: text_of(thing) for name, thing in NAMES.items()}
    for file in pkgutil.iter_modules(rf.__path__):
        if file.name not in ("_core", "__main__"):
            module = importlib.import_module(f"rankfall.{file.name}")
            for found in doctest.DocTestFinder().find(module):
                out.setdefault(found.name, found.docstring)
    seen: Dict[str, str] = {}
    for name, text in out.items():
        text = inspect.cleandoc(text)
        if doctest.DocTestParser().get_examples(text) and text not in seen.values():
            seen[name] = text
    return seen


DOCSTRINGS = all_docstrings()


def complaint_about(name: str, names: Dict[str, Any]) -> str:
    """What is missing for a public name; a class's example may be that of its methods."""
    thing = names[name]
    if len(text_of(thing)) < 20:
        return f"{name}: no docstring"
    if examples_of(thing):
        return ""
    if "." in name:
        owner, member = name.split(".")
        uses = (f".{member}", "[") if member == "__getitem__" else (f".{member}",)
        for other in names:
            if other == owner or other.startswith(f"{owner}."):
                if any(use in e.source for e in examples_of(names[other]) for use in uses):
                    return ""
    return f"{name}: no example that runs"


def test_public_names_are_found():
    for name in ("measure", "InputError", "read", "report", "Monitor.curves", "TrainerCallback", "Gate.parse",
                 "Result.to_pandas", "Result.__getitem__", "Network.n_parameters", "Model.forward", "options"):
        assert name in NAMES
    assert len(DOCSTRINGS) > 40


def test_what_is_missing_is_noticed():
    def nothing():
        pass

    def words():
        """Words that are long enough, but no example."""

    def skipped():
        """An example that nobody runs.

        >>> 1 + 1  # doctest: +SKIP
        3
        """

    def example():
        """An example that runs.

        >>> 1 + 1
        2
        """

    names = {f.__name__: f for f in (nothing, words, skipped, example)}
    assert [bool(complaint_about(name, names)) for name in names] == [True, True, True, False]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    assert not complaint_about(name, NAMES)


METRICS = {
    "residual": "residual.composite",
    "relative_residual": "relative_residual.composite",
    "cosine": "cosine.mean",
    "effective_rank": "rank.effective",
    "stable_rank": "rank.stable",
    "attention_entropy": "attention.entropy",
    "max_logit": "attention.max_logit",
    "logit_range": "attention.logit_range",
    "block_influence": "block.influence",
}


@pytest.mark.parametrize("name", sorted(set(rf.arrays.__all__) - {"metrics"}))
def test_a_metric_has_its_formula(name):
    formula = rf.metric_info(METRICS[name])["formula"].split(", composite")[0]
    assert formula in " ".join(text_of(getattr(rf, name)).split())


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A folder with a checkpoint that has reference states and a tokenizer, and a training."""
    place = tmp_path_factory.mktemp("examples")
    shutil.copytree(DATA / "families" / "bert", place / "model")
    for file in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(DATA / "tokenizers" / "bert-uncased" / file, place / "model")
    options = "--quick --train 60 --eval 20 --layers 1 --epochs 1 --quiet".split()
    run_command(["train", "sort", "-o", "trained", *options], place)
    return place


@pytest.mark.parametrize("name", DOCSTRINGS)
def test_examples(name, folder, monkeypatch):
    text = DOCSTRINGS[name]
    if "import torch" in text:
        pytest.importorskip("torch")
    if '"trained"' in text and not (folder / "trained" / "model.safetensors").exists():
        pytest.skip("train was not built")
    monkeypatch.chdir(folder)
    words = {**vars(rf), "rf": rf}
    example = doctest.DocTestParser().get_doctest(text, words, name, name, 0)
    complaints: List[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=complaints.append)
    assert not complaints, "".join(complaints)
