"""What needs a process of its own: Ctrl-C, the order of imports, `python -m rankfall`, threads."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rankfall as rf
from conftest import DATA, ROOT


def python(code, **options):
    environment = dict(os.environ, PYTHONWARNINGS="ignore")
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, **options)


def test_ctrl_c_ends_a_long_call():
    code = (
        "import rankfall as rf, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "print('ready', flush=True)\n"
        "try:\n"
        "    rf.measure('bert-base@init', samples=400, progress=False)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', len(rf.counts(2, 3)))\n"
    )
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.5)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out.startswith("stopped"), out
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("first", ["torch", "rankfall"])
def test_torch_and_rankfall_in_both_orders(first):
    """SentencePiece and torch each bring a protobuf; texts must become the right ids all the same."""
    pytest.importorskip("torch")
    names = ["torch", "rankfall"] if first == "torch" else ["rankfall", "torch"]
    spiece = next((DATA / "tokenizers").glob("*/spiece.model"), None) or next((DATA / "tokenizers").glob("*/*.model"))
    code = (
        f"import {names[0]}\nimport {names[1]}\nimport torch, rankfall as rf\n"
        f"from rankfall import _core\n"
        f"print([i for i, _ in _core.tokenize({str(spiece.parent)!r}, 'Hello, world of ranks')])\n"
        f"print([i for i, _ in _core.tokenize({str(DATA / 'tokenizers' / 'bert-uncased')!r}, 'the end')])\n"
        "x = torch.randn(2, 8, 4)\n"
        "assert abs(rf.metrics(x)['cosine.mean']).max() <= 1\n"
        "loss = torch.nn.Linear(4, 4)(x).sum(); loss.backward()\n"
    )
    together = python(code)
    assert together.returncode == 0, together.stderr
    alone = python(code.replace("import torch\n", "").replace("import torch, rankfall", "import rankfall").split("x = torch")[0])
    assert alone.returncode == 0, alone.stderr
    assert together.stdout == alone.stdout


def test_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "rankfall", "counts", "2", "3", "--format", "csv"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert done.returncode == 0 and "paths.count" in done.stdout
    wrong = subprocess.run([sys.executable, "-W", "ignore", "-m", "rankfall", "mesure"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "did you mean 'measure'" in wrong.stderr


def test_calls_from_several_threads_take_turns():
    x = np.random.default_rng(0).normal(size=(4, 64, 64))
    expected = rf.metrics(x)["cosine.mean"]
    errors = []

    def work():
        for _ in range(5):
            if not np.array_equal(rf.metrics(x)["cosine.mean"], expected):
                errors.append("differs")
            if len(rf.counts(2, 3)) == 0:
                errors.append("empty")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors and not any(t.is_alive() for t in threads)


def test_a_call_from_within_progress_is_refused_and_does_not_hang():
    seen = []

    def report(done, total, what):
        if not seen:
            with pytest.raises(rf.UsageError, match="from within a call"):
                rf.metrics(np.eye(2))
            seen.append(done)

    rf.measure("bert-mini@init", samples=8, tokens=64, progress=report)
    assert seen


def test_threads_of_a_call_are_of_that_call():
    before = rf.threads()
    rf.counts(2, 3)
    rf.measure("bert-tiny@init", samples=1, tokens=4, variants="san", threads=before + 1)
    assert rf.threads() == before


def test_the_interpreter_is_free_while_computing():
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    done = threading.Event()
    clock = threading.Thread(target=tick)
    clock.start()
    begin = time.monotonic()
    rf.measure("bert-mini@init", samples=16, progress=False)
    took = time.monotonic() - begin
    done.set()
    clock.join()
    during = [t for t in ticks if begin < t < begin + took]
    assert len(during) > 5 and took > 0.1


def test_a_forked_process_can_compute():
    code = (
        "import os, numpy as np, rankfall as rf\n"
        "x = np.random.default_rng(0).normal(size=(8, 64, 64))\n"
        "expected = rf.metrics(x)['cosine.mean']\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    same = np.array_equal(rf.metrics(x)['cosine.mean'], expected) and len(rf.counts(2, 3)) > 0\n"
        "    os._exit(0 if same else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = python(code)
    assert done.stdout == "0\n", done.stderr


def test_a_process_forked_during_a_call_can_compute():
    code = (
        "import os, threading, time, numpy as np, rankfall as rf\n"
        "thread = threading.Thread(target=lambda: rf.measure('bert-mini@init', samples=32, progress=False))\n"
        "thread.start(); time.sleep(0.3)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    rf.metrics(np.eye(3)); os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); thread.join()\n"
    )
    done = python(code)
    assert done.stdout == "0\n", done.stderr


def test_stubs_are_those_of_the_studies():
    tool = ROOT / "python" / "tools" / "make_stubs.py"
    checked = subprocess.run([sys.executable, "-W", "ignore", tool, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


ENABLED = {
    "not": "{}",
    "before": "import faulthandler; faulthandler.enable(); {}",
    "after": "{}; import faulthandler; faulthandler.enable()",
}


@pytest.mark.parametrize("when", ENABLED)
def test_a_model_file_that_is_cut_is_an_error_whether_faulthandler_is_enabled_or_not(when, tmp_path):
    shutil.copytree(DATA / "families" / "gpt2", tmp_path / "gpt2")
    code = (
        ENABLED[when].format("import rankfall as rf") + "\n"
        "import os, sys\n"
        "model = rf.load('gpt2')\n"
        "model.forward(ids=[[1, 2, 3]])\n"
        "os.truncate('gpt2/model.safetensors', 8192)\n"
        "for call in (lambda: model.forward(ids=[[1, 2, 3]]), lambda: rf.measure(model, ids=[[1, 2, 3]])):\n"
        "    try:\n"
        "        call()\n"
        "    except rf.InputError as error:\n"
        "        print(error)\n"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "changed while it was being read" in first and "8192" in first
    assert "model.safetensors" in second


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("where", ["outside", "during"])
def test_faulthandler_reports_other_faults_once(when, where, tmp_path):
    fault = "lambda *told: print(memory[8000])"
    measure = f"rf.measure('bert-mini@init', samples=8, tokens=64, progress={fault})"
    call = f"({fault})()" if where == "outside" else measure
    code = (
        ENABLED[when].format("import rankfall as rf") + "\n"
        "import numpy as np, os\n"
        "np.ones(8192, dtype=np.uint8).tofile('bytes')\n"
        "memory = np.memmap('bytes', dtype=np.uint8, mode='r')\n"
        "rf.metrics(np.eye(3))\n"
        "os.truncate('bytes', 0)\n" + call + "\n"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == -signal.SIGBUS
    assert done.stderr.count("Fatal Python error: Bus error") == 1
    assert 'File "<string>", line' in done.stderr
