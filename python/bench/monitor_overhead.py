"""The time of a watched training step against an unwatched one: 6 layers, 256 wide, a batch of 8 x 128 tokens."""

from __future__ import annotations

import statistics
import time

import torch

import rankfall as rf

PAIRS = 15


def main() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 6)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4)
    x = torch.randn(8, 128, 256)

    def step() -> float:
        begin = time.perf_counter()
        optimiser.zero_grad()
        net(x).square().mean().backward()
        optimiser.step()
        return time.perf_counter() - begin

    for _ in range(3):
        step()
    plain, watched = [], []
    monitor = rf.Monitor(net, every=1, file=None)
    for _ in range(PAIRS):  # in turns, so that whatever else the machine does meets both
        plain.append(step())
        with monitor:
            watched.append(step())
    ratios = sorted(w / p - 1 for w, p in zip(watched, plain))
    overhead = statistics.median(ratios)
    print(f"a step: {1000 * statistics.median(plain):.0f} ms; measured: {1000 * statistics.median(watched):.0f} ms")
    print(f"overhead of a measured step: {overhead:.2f} of a step (median of {PAIRS}; largest {ratios[-1]:.2f})")
    print(f"at every=100: {overhead:.2f} %")


if __name__ == "__main__":
    main()
