"""The monitor: numbers, blocks, modes, masks, gates, writers, checkpointing, overhead."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rankfall as rf  # noqa: E402
from rankfall.monitor import Gate, find_blocks  # noqa: E402


class Block(torch.nn.Module):
    def __init__(self, d, with_attention=False, checkpointed=False):
        super().__init__()
        self.mix = torch.nn.Linear(d, d)
        self.out = torch.nn.Linear(d, d)
        self.with_attention = with_attention

    def forward(self, x):
        p = torch.softmax(self.mix(x) @ x.transpose(1, 2), dim=-1)
        y = x + self.out(p @ x)
        return (y, p.unsqueeze(1)) if self.with_attention else y


class Net(torch.nn.Module):
    def __init__(self, d=8, n=3, with_attention=False, checkpointed=False):
        super().__init__()
        self.embed = torch.nn.Linear(4, d)
        self.blocks = torch.nn.ModuleList([Block(d, with_attention) for _ in range(n)])
        self.head = torch.nn.Sequential(torch.nn.Linear(d, 2), torch.nn.Linear(2, 2))
        self.checkpointed = checkpointed

    def forward(self, x, attention_mask=None):
        x = self.embed(x)
        for block in self.blocks:
            if self.checkpointed:
                x = torch.utils.checkpoint.checkpoint(block, x)
            else:
                x = block(x)
            if isinstance(x, tuple):
                x = x[0]
        return self.head(x)


def states_of(net, x):
    out = [net.embed(x)]
    for block in net.blocks:
        y = block(out[-1])
        out.append(y[0] if isinstance(y, tuple) else y)
    return [s.detach() for s in out]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)


def test_numbers_are_those_of_metrics():
    net, x = Net(), torch.randn(2, 6, 4)
    with rf.Monitor(net, every=1) as mon:
        net(x)
    for layer, state in enumerate(states_of(net, x)):
        expected = rf.metrics(state)
        for record in mon.records:
            if record["layer"] == layer:
                assert record["mean"] == pytest.approx(float(np.mean(expected[record["metric"]])), rel=1e-12)
                assert record["n"] == 2 and record["std"] is not None
    steps, values = mon.curves()
    assert steps.tolist() == [0] and values.shape == (1, 4)
    frame = mon.to_pandas()
    assert set(frame.columns) == {"step", "mode", "layer", "metric", "mean", "std", "n"}
    assert "1 of 1 forward passes" in repr(mon)


def test_every_so_many_and_modes():
    net, x = Net(), torch.randn(1, 6, 4)
    with rf.Monitor(net, every=3, metrics="cosine.mean") as mon:
        for _ in range(7):
            net(x)
        net.eval()
        with torch.no_grad():
            net(x)
        net.train()
    assert sorted({r["step"] for r in mon.records if r["mode"] == "train"}) == [0, 3, 6]
    assert {r["step"] for r in mon.records if r["mode"] == "eval"} == {0}
    assert {r["metric"] for r in mon.records} == {"cosine.mean"}
    n = len(mon.records)
    net(x)  # no longer watched
    assert len(mon.records) == n and not net._forward_hooks and not net.blocks[0]._forward_hooks
    lines = [json.loads(line) for line in open("rankfall-monitor.jsonl")]
    assert [(line["mode"], line["step"]) for line in lines] == [("train", 0), ("train", 3), ("train", 6), ("eval", 0)]
    assert sum(len(line["values"]) for line in lines) == n


def test_training_is_not_changed():
    def trained(watched):
        torch.manual_seed(1)
        net = Net()
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        monitor = rf.Monitor(net, every=1, file=None)
        if watched:
            monitor.start()
        for _ in range(3):
            optimiser.zero_grad()
            net(torch.randn(2, 5, 4)).square().mean().backward()
            optimiser.step()
        monitor.close()
        return [p.detach().clone() for p in net.parameters()]

    for a, b in zip(trained(False), trained(True)):
        assert torch.equal(a, b)


def test_gradient_checkpointing_counts_once():
    import torch.utils.checkpoint

    net, x = Net(checkpointed=True), torch.randn(2, 5, 4)
    with rf.Monitor(net, every=1, metrics="cosine.mean") as mon:
        net(x).sum().backward()
    assert [r["layer"] for r in mon.records] == [0, 1, 2, 3]
    assert all(p.grad is not None for p in net.blocks.parameters())


def test_masks():
    net, x = Net(), torch.randn(2, 6, 4)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [1] * 6])
    with rf.Monitor(net, every=1, metrics="relative_residual.composite", mask=mask) as mon:
        net(x)
        mon.mask = lambda args, kwargs: mask
        net(x)
    expected = rf.metrics(states_of(net, x)[0], mask=mask)["relative_residual.composite"].mean()
    assert [r["mean"] for r in mon.records if r["layer"] == 0] == [pytest.approx(expected)] * 2


def test_attentions_where_blocks_return_them():
    net, x = Net(with_attention=True), torch.randn(2, 6, 4)
    with rf.Monitor(net, every=1) as mon:
        net(x)
    heads = [r for r in mon.records if "head" in r]
    assert {(r["layer"], r["head"]) for r in heads} == {(0, 0), (1, 0), (2, 0)}
    assert {r["metric"] for r in heads} == {"attention.entropy", "attention.sink"}
    assert "head" in mon.to_pandas()


def test_half_precision_and_tokens_first():
    layers = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16), 2)
    x = torch.randn(5, 3, 8)  # tokens first: PyTorch's default
    with rf.Monitor(layers, every=1, metrics="cosine.mean") as mon:
        layers(x)
    assert mon.records[0]["n"] == 3
    assert mon.records[0]["mean"] == pytest.approx(float(np.mean(rf.cosine(x.transpose(0, 1)))))
    net = Net().bfloat16()
    with rf.Monitor(net, every=1, metrics="cosine.mean", file=None) as mon:
        net(torch.randn(2, 5, 4).bfloat16())
    assert len(mon.records) == 4


def test_gates():
    net, x = Net(), torch.randn(2, 6, 4)
    with rf.Monitor(net, every=1, gate="cosine.mean > 2") as mon:
        net(x)
    with pytest.raises(rf.ClaimError, match="step 0, layer 0: relative_residual.composite"):
        with rf.Monitor(net, every=1, gate="relative_residual.composite < 1e9") as mon:
            net(x)
    assert mon.records  # what was seen is there
    seen = []
    with rf.Monitor(net, every=1, gate=["cosine.mean@last > -2"], on_gate=lambda m, r: seen.append(r)):
        net(x)
    assert [r["layer"] for r in seen] == [3]
    assert Gate.parse("cosine.mean@2>=1e-3") == Gate("cosine.mean", 2, ">=", 1e-3)
    for wrong in ("cosine.mean", "cosine.mean = 1", "cosine.mean > x", "> 1", "cosine.nothing > 1", "attention.nope > 1"):
        with pytest.raises(rf.UsageError, match="gate"):
            rf.Monitor(net, gate=wrong)


def test_nan_is_recorded_not_raised():
    net = Net()
    with rf.Monitor(net, every=1, metrics=["relative_residual.composite", "rank"]) as mon:
        with pytest.warns(RuntimeWarning, match="NaN or infinity"):
            net(torch.full((1, 4, 4), float("nan")))
    assert len(mon.records) > 4 and all(r["mean"] is None for r in mon.records)
    assert {r["metric"] for r in mon.records} >= {"relative_residual.composite", "rank.effective"}
    assert json.loads(open("rankfall-monitor.jsonl").readline())["values"][0]["mean"] is None


def test_nothing_but_a_gate_ends_a_training():
    net = Net()
    with rf.Monitor(net, every=1, metrics="cosine.mean", file="/dev/full") as mon:
        with pytest.warns(RuntimeWarning, match="not written"):
            net(torch.randn(2, 5, 4))
        net(torch.randn(0, 5, 4))
        net(torch.randn(2, 0, 4))
        mon.mask = [[0] * 5, [1] * 5]  # one sample is padding alone
        net(torch.randn(2, 5, 4))
        assert mon.records[-1]["n"] == 1
        mon.mask = [[1] * 7]
        with pytest.warns(RuntimeWarning, match="mask of shape"):
            net(torch.randn(1, 5, 4))


def test_attention_mask_of_the_call_is_used():
    net, x = Net(), torch.randn(2, 6, 4)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [1] * 6])
    with rf.Monitor(net, every=1, metrics="relative_residual.composite", file=None) as mon:
        net(x, attention_mask=mask)
    expected = rf.metrics(states_of(net, x)[0], mask=mask)["relative_residual.composite"].mean()
    assert mon.records[0]["mean"] == pytest.approx(expected)


def test_blocks_that_are_never_called_are_told():
    class Nested(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.ModuleList([torch.nn.Linear(4, 4), Block(4)]) for _ in range(3)])

        def forward(self, x):
            for _, block in self.layers:
                x = block(x=x)
            return x

    net = Nested()
    with pytest.raises(rf.UsageError, match="blocks="):
        rf.Monitor(net)
    with rf.Monitor(net, every=1, blocks=[b for _, b in net.layers], metrics="cosine.mean", file=None) as mon:
        net(torch.randn(1, 5, 4))
    assert [r["layer"] for r in mon.records] == [0, 1, 2, 3]  # also of a state passed by keyword
    with rf.Monitor(net, every=1, blocks=[Block(4)], file=None) as mon:
        with pytest.warns(RuntimeWarning, match="none of the blocks"):
            net(torch.randn(1, 5, 4))


def test_writers():
    class Board:
        def __init__(self):
            self.seen = []

        def add_scalar(self, name, value, step):
            self.seen.append((name, value, step))

    board, net = Board(), Net()
    with rf.Monitor(net, every=1, metrics="cosine.mean", tensorboard=board) as mon:
        mon.step(70)
        net(torch.randn(1, 5, 4))
    assert ("rankfall/cosine.mean/layer03", mon.records[3]["mean"], 70) in board.seen


class WandbRun:
    """The protocol of a W&B run: rows by step, which grows; what comes too late is dropped."""

    def __init__(self):
        self.rows, self.axes, self.step, self.dropped = {}, {}, 0, []

    def define_metric(self, name, step_metric):
        self.axes[name] = step_metric

    def log(self, numbers, step=None, commit=None):
        if step is not None and step < self.step:
            self.dropped.append(numbers)
            return
        self.step = self.step if step is None else step
        self.rows.setdefault(self.step, {}).update(numbers)
        if commit or (commit is None and step is None):
            self.step += 1


@pytest.mark.parametrize("theirs", ["no step", "own steps", "several logs", "rarely"])
def test_wandb_loses_nothing(theirs):
    run, net, x = WandbRun(), Net(), torch.randn(1, 5, 4)
    with rf.Monitor(net, every=1, metrics="cosine.mean", wandb=run) as mon:
        for step in range(6):
            net.train()
            net(x)
            if step % 2 == 0:
                net.eval()
                net(x)
            if theirs == "own steps":
                run.log({"loss": step}, step=step)
            for _ in range({"no step": 1, "several logs": 3, "rarely": step == 5}.get(theirs, 0)):
                run.log({"loss": step})
    assert not run.dropped
    rows = list(run.rows.values())
    assert [row["rankfall/step"] for row in rows if "rankfall/step" in row] == list(range(6))
    assert [row["rankfall/eval/step"] for row in rows if "rankfall/eval/step" in row] == [0, 1, 2]
    assert [row["loss"] for row in rows if "loss" in row][-1] == 5
    means = [r["mean"] for r in mon.records if r["layer"] == 3 and r["mode"] == "train"]
    assert [row["rankfall/cosine.mean/layer03"] for row in rows if "rankfall/step" in row] == means
    assert run.axes["rankfall/cosine.mean/layer03"] == "rankfall/step"
    assert run.axes["rankfall/eval/cosine.mean/layer03"] == "rankfall/eval/step"


def test_a_writer_that_fails_keeps_nothing_from_the_others():
    class Broken:
        def add_scalar(self, *args):
            raise OSError("no space left")

    run, net = WandbRun(), Net()
    with rf.Monitor(net, every=1, metrics="cosine.mean", file="no/such/folder/x.jsonl", tensorboard=Broken(), wandb=run):
        with pytest.warns(RuntimeWarning, match="no space left"):
            net(torch.randn(1, 5, 4))
    assert len(run.rows[0]) == 5


def test_only_rank_0_writes(tmp_path):
    import torch.distributed as distributed

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        net = torch.nn.parallel.DistributedDataParallel(Net())
        with rf.Monitor(net, every=1, metrics="cosine.mean") as mon:
            net(torch.randn(1, 5, 4)).sum().backward()
        assert len(mon.records) == 4
    finally:
        distributed.destroy_process_group()
    net = Net()
    with rf.Monitor(net, every=1, file="other.jsonl") as mon:
        mon._is_rank_0 = lambda: False
        net(torch.randn(1, 5, 4))
    assert not mon.records
    from pathlib import Path

    assert not Path("other.jsonl").exists()


def test_trainer_callback():
    class State:
        global_step = 40

    net = Net()
    callback = rf.TrainerCallback(every=1, metrics="cosine.mean")
    callback.on_init_end(None, State, None)
    callback.on_train_begin(None, State, None, model=net)
    callback.on_step_begin(None, State, None)
    net(torch.randn(1, 5, 4))
    callback.on_log(None, State, None, logs={})
    net(torch.randn(1, 5, 4))  # gradient accumulation: one measured pass per step
    callback.on_train_end(None, State, None)
    assert [(r["step"], r["layer"]) for r in callback.monitor.records] == [(40, 0), (40, 1), (40, 2), (40, 3)]
    assert not net._forward_hooks
    callback.on_train_begin(None, State, None, model=net)
    callback.on_train_begin(None, State, None, model=net)  # resumed without an end
    assert len(net._forward_hooks) == 1
    callback.on_train_end(None, State, None)
    assert not net._forward_hooks
    with pytest.raises(TypeError):
        rf.TrainerCallback(evry=5)


def test_blocks():
    net = Net()
    assert find_blocks(net) == list(net.blocks)
    with rf.Monitor(net, every=1, blocks=[net.blocks[1]], metrics="cosine.mean", file=None) as mon:
        net(torch.randn(1, 5, 4))
    assert [r["layer"] for r in mon.records] == [0, 1]
    with pytest.raises(rf.UsageError, match="no list of blocks"):
        rf.Monitor(torch.nn.Linear(2, 2))
    with pytest.raises(rf.InputError, match="torch.nn.Module"):
        rf.Monitor("a module")
    with pytest.raises(rf.UsageError, match="unknown metric"):
        rf.Monitor(net, metrics="cosine.meen")


def test_what_is_wrong_is_said_at_once():
    net = Net()
    for wrong, words in (
        ({"gate": 5}, "gate"),
        ({"gate": [5]}, "gate"),
        ({"every": 0}, "every"),
        ({"every": "often"}, "every"),
        ({"every": 1.5}, "every"),
        ({"samples": 0}, "samples"),
        ({"blocks": ["a"]}, "blocks"),
        ({"blocks": []}, "blocks"),
    ):
        with pytest.raises((rf.InputError, rf.UsageError), match=words):
            rf.Monitor(net, **wrong)
    with pytest.raises(rf.UsageError, match="sign"):
        rf.Gate("cosine.mean", None, "==", 1.0)
    assert len(rf.Monitor(net, gate=[rf.Gate("cosine.mean", 1, ">", 0.5), "cosine.mean_abs < 1"])._gates) == 2
    with pytest.warns(RuntimeWarning, match="layer 9 of 3 blocks"):
        rf.Monitor(net, gate="cosine.mean@9 > 0")


def test_a_mask_function_that_fails_does_not_end_a_training():
    net, x = Net(), torch.randn(1, 5, 4)
    with rf.Monitor(net, every=1, file=None, mask=lambda args, kwargs: args[7]) as mon:
        with pytest.warns(RuntimeWarning, match="IndexError"):
            assert net(x) is not None
    assert mon.records == []  # without its mask a pass has other numbers


def test_nested_tensors_are_not_measured_and_end_nothing():
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    x = torch.randn(2, 5, 8)
    expected = encoder(x, src_key_padding_mask=padding)
    with torch.no_grad(), rf.Monitor(encoder, every=1, file=None) as mon:
        with pytest.warns(RuntimeWarning, match="dense tensor|none of the blocks"):
            encoder(x, src_key_padding_mask=padding)
    assert expected.shape == (2, 5, 8) and mon.records == []


def test_a_trace_is_not_measured():
    net = Net()
    with rf.Monitor(net, every=1, file=None) as mon:
        torch.jit.trace(net, torch.randn(1, 5, 4), check_trace=False)
    assert mon.records == []


def test_shared_blocks_are_layers_of_their_own():
    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([Block(8), Block(8)])

        def forward(self, x):
            for i in range(4):
                x = self.layers[0](x)
            return x

    with rf.Monitor(Shared(), every=1, metrics="cosine.mean", file=None) as mon:
        mon.module(torch.randn(1, 5, 8))
    assert [r["layer"] for r in mon.records] == [0, 1, 2, 3, 4]


def test_copies_are_not_watched():
    import copy
    import io

    net, x = Net(), torch.randn(1, 5, 4)
    with rf.Monitor(net, every=1, metrics="cosine.mean") as mon:
        net(x)
        twin = copy.deepcopy(net)
        buffer = io.BytesIO()
        torch.save(net, buffer)
        buffer.seek(0)
        n = len(mon.records)
        twin(x)
        torch.load(buffer)(x)
        assert len(mon.records) == n


def test_plot(tmp_path):
    net = Net()
    with rf.Monitor(net, every=1, metrics="cosine.mean") as mon:
        for _ in range(3):
            net(torch.randn(1, 5, 4))
    chart = mon.plot("cosine.mean")
    assert len(chart.spec["data"]["values"]) == 12
    assert chart.save(tmp_path / "c.html").stat().st_size > 500_000
    with pytest.raises(rf.UsageError, match="was not measured"):
        mon.plot("rank.stable")
