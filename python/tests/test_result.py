"""Results: columns, curves, files, pages, notebooks."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankfall as rf
from rankfall import notebook


@pytest.fixture(scope="module")
def result():
    return rf.measure("bert-tiny@init", variants=["full", "san"], samples=3, tokens=8, metrics="attention")


def test_curves(result):
    curves = result["relative_residual.composite"]
    assert list(curves) == ["full", "san"]
    assert curves["san"].shape == (3,)
    assert result["attention.entropy"]["san"].shape == (2, 2)
    assert np.isfinite(curves["full"]).all()
    with pytest.raises(KeyError, match="not in this result"):
        result["relative_residual.nothing"]
    two = rf.measure("bert-tiny@init", "san:layers=2,heads=1,dim=8", variants="san", samples=1, tokens=8)
    assert set(two["cosine.mean"]) == {"bert-tiny@init san", "san:layers=2,heads=1,dim=8 san"}


def test_curves_of_other_studies():
    exact = rf.collapse("bert-tiny@init", variants="san", samples=1, tokens=8)["log10_relative_residual.composite"]
    assert list(exact) == ["san", "san f32", "san f64"] and exact["san"][2] < -6
    paths = rf.paths("bert-tiny@init", samples=1, tokens=8)["paths.share.projection"]
    assert paths["full embedding"].shape == (3, 3)  # layers, lengths
    with pytest.raises(rf.UsageError, match="to_pandas"):
        rf.lowrank("bert-tiny@init", only="scaling", samples=1, lengths=[16, 32, 64])["scaling.sigma2"]


def test_pandas(result):
    frame = result.to_pandas()
    assert len(frame) == len(result)
    assert frame["mean"].dtype == np.float64 and str(frame["layer"].dtype) == "Int64"
    assert "seed" not in frame  # empty throughout
    pivot = frame[frame.metric == "cosine.mean"].pivot(index="layer", columns="variant", values="mean")
    np.testing.assert_array_equal(pivot["san"].to_numpy(dtype=float), result["cosine.mean"]["san"])
    seeds = rf.measure("bert-tiny@init", variants="san", samples=1, tokens=8, seeds=2)
    assert len(seeds.to_pandas("all")) == 3 * len(seeds.to_pandas())
    with pytest.raises(rf.UsageError, match="expected one of"):
        seeds.to_pandas("most")


def test_files(result, tmp_path):
    again = rf.read(result.save(tmp_path / "r.json", rows="all"))
    assert json.loads(again._core.json())["rows"] == json.loads(result._core.json())["rows"]
    assert again.manifest["samples"] == 3
    assert result.save(tmp_path / "r.csv").read_text().startswith("model,")
    assert (tmp_path / "r.manifest.json").exists()
    page = result.report(tmp_path / "r.html").read_text()
    assert page.lower().startswith("<!doctype html") and "bert-tiny@init" in page
    both = rf.report(tmp_path / "both.html", [result, rf.counts(2, 3)], title="Two")
    assert "Two" in both.read_text()
    with pytest.raises(rf.UsageError, match="ending"):
        result.save(tmp_path / "r.xlsx")
    with pytest.raises(rf.UsageError, match="ending"):
        result.report(tmp_path / "r.pdf")
    for wrong in (None, 5, [5], {"a": 5}):
        with pytest.raises(rf.InputError, match="expected rankfall.Result"):
            rf.report(tmp_path / "r.html", wrong)
    with pytest.raises(rf.InputError):
        rf.read(tmp_path / "missing.json")
    (tmp_path / "half.json").write_text((tmp_path / "r.json").read_text()[:1000])
    with pytest.raises(rf.InputError):
        rf.read(tmp_path / "half.json")


def test_words(result):
    assert "bert-tiny@init" in repr(result)
    assert result.answers and all(a.endswith((".", "?")) for a in result.answers)
    assert result.status["rounding_floor"] > 0  # san at layer 2
    assert max(len(line) for line in result.table(width=60).splitlines()) <= 60
    assert "relative_residual.composite" in result.metrics and "cosine.mean" in result
    assert next(iter(result))["model"] == "bert-tiny@init"


def test_copies(result):
    import copy
    import pickle

    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert again._core.json() == result._core.json()
    model = rf.load("bert-tiny@init", seed=2).without("mlp")
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)


def test_notebook(result):
    first = notebook.html_of(result, with_script=True)
    later = notebook.html_of(result, with_script=False)
    assert result.answers[0][:20] in first
    assert "rankfallQueue" in first and len(first) > 500_000 > len(later)
    text = json.loads(result._core.json())
    for row in text["rows"]:  # names from files are text, not markup
        row["model"] = "</script><img src=x onerror=alert(1)>"
    from rankfall import _core

    shown = notebook.html_of(rf.Result(_core.result_from_json(json.dumps(text))), with_script=False)
    assert "<img" not in shown and "img src=x" in shown


def test_chart_files(result, tmp_path):
    spec = json.loads(next(iter(result.charts().values())))
    chart = notebook.Chart(spec, "one")
    assert "rankfallQueue" in chart.save(tmp_path / "c.html").read_text()
    assert json.loads(chart.save(tmp_path / "c.vl.json").read_text()) == spec
