#!/usr/bin/env python3
"""Steps a second of `rankfall train sort` beside the same network in Python's PyTorch (Debian: python3-torch).

usage: bench/train_speed.py path/to/rankfall

Both train the default network (6 blocks, 2 heads, width 48, dropout 0.1, AdamW, batch 32) on one thread, one after the
other, three rounds; the medians are compared.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before torch, which does not set it
import torch  # noqa: E402

BATCH, TOKENS, DIGITS, WIDTH, HEADS, BLOCKS = 32, 8, 10, 48, 2, 6
STEPS = 313  # of an epoch of 10,000 sequences


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm = torch.nn.LayerNorm(WIDTH, eps=1e-12)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        heads = [f(x).view(len(x), TOKENS, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v)]
        p = torch.softmax(heads[0] @ heads[1].transpose(2, 3) / (WIDTH // HEADS) ** 0.5, -1)
        y = (self.drop(p) @ heads[2]).transpose(1, 2).reshape(len(x), TOKENS, WIDTH)
        return self.norm(x + self.drop(self.o(y)))


class Sorter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(DIGITS, WIDTH)
        self.positions = torch.nn.Embedding(TOKENS, WIDTH)
        self.map = torch.nn.Linear(WIDTH, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH, eps=1e-12)
        self.drop = torch.nn.Dropout(0.1)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.head = torch.nn.Linear(WIDTH, DIGITS)

    def forward(self, ids):
        x = self.drop(self.norm(self.map(self.words(ids) + self.positions.weight)))
        return self.head(self.drop(self.blocks(x)))


def python_steps():
    torch.set_num_threads(1)
    model = Sorter()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(DIGITS, (BATCH, TOKENS))
    labels = ids.sort().values
    start = 0.0
    for step in range(STEPS + 10):
        if step == 10:
            start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        loss.item()
    return STEPS / (time.perf_counter() - start)


def rankfall_steps(rankfall):
    """From the difference between one epoch and three: starting, data and evaluation at the start drop out."""
    seconds = []
    for epochs in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            subprocess.run([rankfall, "train", "sort", "-o", folder + "/t", "--epochs", str(epochs), "--eval", "10",
                            "--quiet"], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
    return 2 * STEPS / (seconds[1] - seconds[0])


def main():
    rounds = [(rankfall_steps(sys.argv[1]), python_steps()) for _ in range(3)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds))
    print(f"rankfall {ours:.0f} steps/s, PyTorch {torch.__version__} in Python {theirs:.0f} steps/s: {ours / theirs:.2f} times")


if __name__ == "__main__":
    main()
