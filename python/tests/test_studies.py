"""Studies give what the command gives, bit for bit, and take what Python has."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

import numpy as np
import pytest

import rankfall as rf
from conftest import DATA, run_command
from rankfall import _core

SMALL = ["bert-tiny@init"]
CASES = {
    "measure": (["bert-tiny@init"], {"variants": ["full", "san"], "samples": 2, "tokens": 8, "metrics": ["rank", "attention"]}),
    "collapse": (["bert-tiny@init"], {"variants": "san", "samples": 2, "tokens": 8}),
    "lowrank": (["bert-tiny@init"], {"only": ["spectra", "scaling"], "samples": 1, "tokens": 8, "lengths": [16, 32]}),
    "theory": (["bert-tiny@init"], {"variants": "san", "samples": 1, "tokens": 8, "compare": True}),
    "paths": (["bert-tiny@init"], {"samples": 1, "tokens": 8, "heads": True}),
    "counts": ([3, 4], {}),
    "effectiveness": None,  # needs a training: its test is below
    "bounds": (["san:layers=2,heads=1,dim=8,norm=none"], {"variants": ["san"], "samples": 2, "tokens": 6}),
    "audit": ([], {"claims": "1,10", "trials": 50}),
    "parity": ([str(DATA / "families" / "gpt_neox")], {}),
    "tokens": ([str(DATA / "tokenizers" / "bert-uncased")], {"text": "TEXT"}),
    "bench": None,  # times differ
    "doctor": None,  # facts of the moment
}


def words_of(name, values, arguments):
    words = [str(v) for v in values]
    for argument in next(f for f in _core.functions() if f["name"] == name)["arguments"]:
        value = arguments.get(argument["name"])
        if value is None:
            continue
        if value is True:
            words.append(argument["option"])
        elif isinstance(value, list) and not argument["joined"] and argument["several"]:
            for item in value:
                words += [argument["option"], str(item)]
        else:
            words += [argument["option"], ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def test_every_study_is_a_function_and_has_a_case():
    assert {f["name"] for f in _core.functions()} == set(CASES)
    for name in CASES:
        assert callable(getattr(rf, name)), name
        assert "Arguments:" in getattr(rf, name).__doc__
        assert "progress" in inspect.signature(getattr(rf, name)).parameters


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case])
def test_the_same_bits_as_the_command(name, tmp_path):
    values, arguments = CASES[name]
    arguments = dict(arguments)
    if arguments.get("text") == "TEXT":
        (tmp_path / "text.txt").write_text("attention is not all you need\nthe end\n")
        arguments["text"] = str(tmp_path / "text.txt")
    result = getattr(rf, name)(*values, **arguments)
    command = run_command([name, *words_of(name, values, arguments), "--format", "json", "--rows", "all"], tmp_path)
    assert command.returncode == 0, command.stderr
    theirs = json.loads(command.stdout)
    ours = json.loads(result._core.json())
    assert len(theirs["rows"]) > 0
    assert ours["rows"] == theirs["rows"]
    assert ours["command"] == theirs["command"] == name
    differing = {k for k in ours["manifest"] if ours["manifest"][k] != theirs["manifest"].get(k)}
    assert differing <= {"blas_choice"}  # who chose the kernel


def test_effectiveness(tmp_path):
    options = "--quick --train 60 --eval 20 --layers 1 --epochs 1 --quiet".split()
    trained = run_command(["train", "sort", "-o", "trained", *options], tmp_path)
    if "libtorch" in trained.stderr:
        pytest.skip("train was not built")
    assert trained.returncode == 0, trained.stderr
    result = rf.effectiveness(tmp_path / "trained", draws=2)
    command = run_command(["effectiveness", str(tmp_path / "trained"), "--draws", "2", "--format", "json", "--rows", "all"], tmp_path)
    assert json.loads(result._core.json())["rows"] == json.loads(command.stdout)["rows"]


def test_texts_and_arrays_in_memory(tmp_path):
    bert = DATA / "families" / "bert"
    ids = [[1, 2, 3, 4], [5, 6, 7]]
    (tmp_path / "ids.json").write_text(json.dumps({"input_ids": ids}))
    from_file = rf.measure(bert, ids=tmp_path / "ids.json", variants="full")
    in_memory = rf.measure(bert, ids=ids, variants="full")
    arrays = rf.measure(bert, ids=[np.array(i) for i in ids], variants="full")
    assert json.loads(from_file._core.json())["rows"] == json.loads(in_memory._core.json())["rows"]
    assert json.loads(from_file._core.json())["rows"] == json.loads(arrays._core.json())["rows"]
    tokenizer = DATA / "tokenizers" / "bert-uncased"
    (tmp_path / "text.txt").write_text("one two\nthree\n")
    spec = "san:layers=1,heads=1,dim=8,vocab=600"
    by_file = rf.measure(spec, text=tmp_path / "text.txt", tokenizer=tokenizer, variants="full")
    by_list = rf.measure(spec, text=["one two", "three"], tokenizer=tokenizer, variants="full")
    assert json.loads(by_file._core.json())["rows"] == json.loads(by_list._core.json())["rows"]
    padded = rf.measure(spec, text=["one two", "three"], tokenizer=tokenizer, variants="full", pad=True, tokens=6)
    assert padded.manifest["tokens"] == 6
    hidden = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)
    states = rf.measure(spec, hidden=hidden, variants="full")
    assert states.manifest["samples"] == 2
    masked = rf.measure(spec, hidden=hidden, mask=[[1, 1, 1, 0, 0]] * 2, variants="full")
    shorter = rf.measure(spec, hidden=hidden[:, :3], variants="full")
    name = "relative_residual.composite"
    np.testing.assert_allclose(masked[name]["full"], shorter[name]["full"], rtol=1e-5)


def open_and_closed():
    file = open(os.devnull)
    file.close()
    return file


def test_errors_name_arguments():
    with pytest.raises(TypeError, match="unexpected argument 'varients'; did you mean 'variants'"):
        rf.measure(*SMALL, varients="san")
    with pytest.raises(rf.UsageError, match="samples") as error:
        rf.measure(*SMALL, samples=0)
    assert "--" not in str(error.value)
    with pytest.raises(rf.UsageError, match="did you mean 'san'") as error:
        rf.measure(*SMALL, variants="sann")
    assert str(error.value).startswith("variants")
    with pytest.raises(rf.UsageError, match="fail_if") as error:
        rf.collapse(*SMALL, fail_if="nothing>1")
    assert "--" not in str(error.value)
    with pytest.raises(rf.UsageError, match="no such directory"):
        rf.measure("no/such/model", samples=1)
    with pytest.raises(rf.UsageError, match="tokenizer"):
        rf.measure(*SMALL, text=["a text"])
    with pytest.raises(rf.InputError, match="expected True or False"):
        rf.measure(*SMALL, ablate="yes")
    for samples, found in (("many", "'many', expected 1 to"), (0, "0, expected 1 to"), (1.5, "1.5, expected a whole number")):
        with pytest.raises(rf.UsageError, match=f"samples: found {found}"):
            rf.measure(*SMALL, samples=samples)
    with pytest.raises(rf.UsageError, match="add tokenizer=DIR,"):
        rf.measure(*SMALL, text=["a text"])
    for wrong in ({"ids": [[]]}, {"progress": 5}, {"text": open_and_closed()}, {"ids": open_and_closed()}):
        with pytest.raises(rf.InputError, match=next(iter(wrong))):
            rf.measure(*SMALL, **wrong)
    with pytest.raises(rf.UsageError, match="one kind of input"):
        rf.measure(*SMALL, ids=[[1, 2]], hidden=np.zeros((2, 128)))
    with pytest.raises(rf.InputError, match="vocabulary|beyond"):
        rf.measure(*SMALL, ids=[[1, 10**9]])


def test_a_condition_that_holds_keeps_the_result():
    with pytest.raises(rf.ClaimError, match="fail_if") as error:
        rf.measure(*SMALL, samples=1, tokens=8, variants="full", fail_if="cosine.mean@last>-1")
    assert isinstance(error.value.result, rf.Result)
    assert "cosine.mean" in error.value.result


def test_progress_is_reported_and_its_exceptions_end_the_job():
    seen = []
    rf.measure("bert-mini@init", samples=8, tokens=128, progress=lambda *told: seen.append(told))
    assert seen and all(0 <= done <= total for done, total, _ in seen)
    assert any("bert-mini@init" in what for _, _, what in seen)

    class Enough(Exception):
        pass

    def stop(done, total, what):
        raise Enough

    with pytest.raises(Enough):
        rf.measure("bert-mini@init", samples=8, tokens=128, progress=stop)
    assert len(rf.counts(2, 3)) > 0  # and the next call works


def test_options_are_known():
    with pytest.raises(AttributeError, match="has no progess; it has progress"):
        rf.options.progess = False
    try:
        rf.options.progress = 5
        with pytest.raises(rf.InputError, match="progress"):
            rf.counts(2, 3)
    finally:
        rf.options.progress = None


def test_models_may_be_objects():
    model = rf.load("bert-tiny@init", seed=3)
    by_object = rf.measure(model, samples=1, tokens=8, variants="san")
    by_name = rf.measure("bert-tiny@init", seed=3, samples=1, tokens=8, variants="san")
    assert json.loads(by_object._core.json())["rows"] == json.loads(by_name._core.json())["rows"]
    changed = rf.measure(model.without("attn_skip", "mlp"), samples=1, tokens=8)
    named = rf.measure("bert-tiny@init", seed=3, samples=1, tokens=8, without="attn_skip,mlp")
    assert json.loads(changed._core.json())["rows"] == json.loads(named._core.json())["rows"]
    for clash in ({"without": "norm"}, {"variants": "san"}, {"ablate": True}):
        with pytest.raises(rf.UsageError, match="brings its own"):
            rf.measure(model.without("mlp"), **clash)
    with pytest.raises(rf.UsageError, match="has no depth="):
        rf.measure(rf.load("bert-tiny@init", depth=1))


def test_names_of_files_may_be_any_bytes(tmp_path):
    name = tmp_path / os.fsdecode(b"ids\xff--samples.json")
    name.write_text(json.dumps({"input_ids": [[1, 2, 3]]}))
    assert rf.measure(*SMALL, ids=name, variants="full").manifest["samples"] == 1
    with pytest.raises(rf.InputError, match="a--seed"):
        rf.measure(*SMALL, ids=tmp_path / "a--seed.json")
    with pytest.raises(rf.InputError, match="NUL"):
        rf.measure("a\0b")


def test_every_path_in_a_list():
    listed = rf.paths("san:layers=2,heads=2,dim=8", samples=1, tokens=4, list=True)
    assert len(set(listed.columns("all")["path"])) == 9  # two heads or the skip in each of two blocks
