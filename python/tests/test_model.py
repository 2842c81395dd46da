"""Models: descriptions, rewrites, forward passes."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import rankfall as rf
from conftest import DATA


def safetensors(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    kinds = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}
    out = {}
    for name, info in header.items():
        if name != "__metadata__" and info["dtype"] in kinds:
            begin, end = info["data_offsets"]
            out[name] = np.frombuffer(data[8 + n + begin : 8 + n + end], kinds[info["dtype"]]).reshape(info["shape"])
    return out


@pytest.mark.parametrize("family", ["bert", "gpt2", "gpt_neox", "qwen3", "gemma2", "modernbert"])
def test_forward_equals_the_reference(family):
    directory = DATA / "families" / family
    expected = safetensors(directory / "expected.safetensors")
    given = safetensors(directory / "input.safetensors")
    inputs = {"ids": given["input_ids"]}
    if "attention_mask" in given:
        inputs["mask"] = given["attention_mask"]
    out = rf.load(directory).forward(**inputs, states="all", attention="all", precision="f64")
    theirs = expected["full/hidden_states"]
    ours = np.stack([np.asarray(out.states[s]) for s in sorted(out.states)])
    assert ours.shape == theirs.shape
    valid = np.asarray(inputs.get("mask", np.ones(ours.shape[1:3]))) != 0
    limit = 1e-11 if theirs.dtype == np.float64 else 1e-5
    assert np.abs((ours - theirs)[:, valid]).max() / np.abs(theirs[:, valid]).max() < limit
    for p in out.attention.values():
        np.testing.assert_allclose(np.asarray(p)[valid].sum(axis=-1), 1, atol=1e-12)


def test_network_as_data():
    model = rf.load("pythia-70m@init")
    network = model.network
    assert (network.family, network.n_blocks, network.n_heads, network.d_model) == ("gpt_neox", 6, 8, 512)
    layer = network.layers[0]
    assert [b.function for b in layer.branches] == ["attention", "mlp"]
    assert layer.branches[0].details["causal"] is True
    assert "blocks 0 to 5" in repr(network)
    assert network.n_parameters > 10_000_000
    assert "random weights" in repr(model)
    assert model.without("attn_skip").network.layers[0].skip == 0
    assert model.variant("san").network.layers[0].branches[0].function == "attention"
    assert "window 8" in repr(model.with_attention("window:w=8").network)
    with pytest.raises(rf.UsageError, match="changed already"):
        model.variant("san").without("norm")
    with pytest.raises(rf.UsageError, match="did you mean"):
        model.without("atn_skip")


def test_forward_arguments():
    model = rf.load("san:layers=2,heads=2,dim=8,vocab=20")
    out = model.forward(ids=[[1, 2, 3], [4, 5]], states=[0, -1], attention=[(0, 1)])
    assert isinstance(out.last, list) and out.last[1].shape == (2, 8)  # lengths differ
    assert sorted(out.states) == [0, 2]
    assert out.last[0].dtype == np.float32
    assert model.forward(samples=2, tokens=5).last.shape == (2, 5, 8)
    np.testing.assert_array_equal(model.forward(samples=2, tokens=5).last, model.forward(samples=2, tokens=5).last)
    assert not np.array_equal(model.forward(samples=2, tokens=5).last, model.forward(samples=2, tokens=5, seed=1).last)
    hidden = np.random.default_rng(0).normal(size=(3, 4, 8))
    np.testing.assert_array_equal(model.forward(hidden=hidden, states=[0], precision="f64").states[0], hidden)
    for wrong in ({"states": [3]}, {"states": ["x"]}, {"attention": [(0, 2)]}, {"attention": [0]}, {"hidden": hidden[..., :5]}):
        with pytest.raises(rf.RankfallError):
            model.forward(**wrong)
    for wrong in ({"states": 1}, {"attention": 0}):
        with pytest.raises(rf.InputError, match="expected a list|expected pairs"):
            model.forward(**wrong)
    for wrong in ({"states": "some"}, {"precision": "f16"}):
        with pytest.raises(rf.UsageError):
            model.forward(**wrong)
    for wrong in ({"samples": 0}, {"samples": "a"}, {"pad": "x"}, {"seed": -1}, {"pixels": []}, {"samples": 2_000_000}):
        with pytest.raises(rf.InputError, match=next(iter(wrong))) as error:
            model.forward(**wrong)
        assert "C++" not in str(error.value) and "::" not in str(error.value)
    with pytest.raises(rf.RankfallError) as error:
        model.forward(text=["a"])
    assert "tokenizer" in str(error.value) and "::" not in str(error.value) and "--" not in str(error.value)
    for wrong in (lambda: rf.load("bert-tiny@init", depth="2"), lambda: model.variant(5), lambda: rf.load("bert-tiny@init", seed=-1)):
        with pytest.raises(rf.InputError):
            wrong()
    with pytest.raises(rf.UsageError, match="mask"):
        model.forward(mask=[[1, 0]])


def test_the_library_lists_what_it_knows():
    assert "bert-base" in rf.presets() and "gemma2" in rf.families()
    assert any(kind.startswith("linformer") for kind in rf.attention_kinds())
    assert rf.metric_info("cosine.mean")["formula"]
    assert len(rf.metric_info()) > 30
    with pytest.raises(rf.UsageError, match="unknown metric"):
        rf.metric_info("cosine.nothing")
