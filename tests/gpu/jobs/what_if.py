# SPDX-License-Identifier: Apache-2.0
"""Training on one GPU with one disease, to be compared with the same training without it.

  what_if.py CASE --steps 120      the diseased one: what is recorded; with --well the other
  what_if.py CASE --truth 6        blocks of both in turn, in one process: their medians and ratios as JSON

Cases: input (the loader makes each batch in the training process), sync (the host reads a value after each layer), launch
(kernels far shorter than their launches; without: a CUDA graph), kernel (half of the scans over a large tensor are needless),
checkpoint (every tenth step saves the model).
"""
import argparse
import io
import json
import statistics
import time

import torch
from torch import nn

BLOCK = 40    # steps of one kind in a row
SETTLE = 10   # of these, left out


class Case:
    rows, width, layers = 4096, 2048, 6  # on a GPU; elsewhere only the commands are tried

    def __init__(self, device):
        self.device = device
        self.on_gpu = device.type == "cuda"
        if not self.on_gpu:
            self.rows, self.width = 16, 64
        torch.manual_seed(1)
        self.net = nn.Sequential(*(layer for _ in range(self.layers)
                                   for layer in (nn.Linear(self.width, self.width), nn.ReLU()))).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.kept = torch.randn(self.rows, self.width, device=device)
        self.count = 0

    def batch(self, ill):
        return self.kept

    def forward(self, x, ill):
        return self.net(x).square().mean()

    def after(self, ill):
        pass

    def step(self, ill):
        self.count += 1
        with torch.profiler.record_function("step"):
            x = self.batch(ill)
            loss = self.forward(x, ill)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.after(ill)
            if self.on_gpu:
                torch.cuda.synchronize()


class Made(torch.utils.data.Dataset):
    """Batches on the host; making one takes some milliseconds where it is to."""

    def __init__(self, shape, made):
        self.one, self.made = torch.randn(shape), made

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        return self.one.clone().add_(i).tanh_().sin_() if self.made else self.one


class Input(Case):
    def __init__(self, device):
        super().__init__(device)
        self.loaders = {made: iter(torch.utils.data.DataLoader(Made(self.kept.shape, made), batch_size=None))
                        for made in (True, False)}

    def batch(self, ill):
        return next(self.loaders[ill]).to(self.device)


class Sync(Case):
    rows, width, layers = 8192, 512, 24

    def forward(self, x, ill):
        for layer in self.net:
            x = layer(x)
            value = x.sum()
            if ill:
                value.item()
        return x.square().mean()


class Launch(Case):
    """The captured step is the same forward, backward and update."""
    rows, width, layers = 64, 512, 24

    def step(self, ill):
        if ill or not self.on_gpu:
            super().step(ill)
            return
        if not hasattr(self, "graph"):
            self.capture()
        with torch.profiler.record_function("step"):
            self.graph.replay()
            torch.cuda.synchronize()

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.update()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.update()

    def update(self):
        loss = self.forward(self.kept, False)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class Kernel(Case):
    def __init__(self, device):
        super().__init__(device)
        self.long = torch.ones(1 << (25 if self.on_gpu else 12), device=device)

    def forward(self, x, ill):
        for _ in range(20 if ill else 10):
            torch.cumsum(self.long, 0)
        return super().forward(x, ill)


class Checkpoint(Case):
    def after(self, ill):
        if ill and self.count % 10 == 0:
            with torch.profiler.record_function("checkpoint"):
                torch.save(self.net.state_dict(), io.BytesIO())


CASES = {"input": Input, "sync": Sync, "launch": Launch, "kernel": Kernel, "checkpoint": Checkpoint}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--well", action="store_true", help="the steps are without the disease")
    parser.add_argument("--truth", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    case = CASES[options.case](torch.device(options.device))
    for _ in range(options.steps):
        case.step(not options.well)
    means = {True: [], False: []}  # of each block: a checkpoint is not in every step
    for _ in range(options.truth):
        for ill in (True, False):
            for _ in range(SETTLE):
                case.step(ill)
            begin = time.monotonic_ns()
            for _ in range(BLOCK - SETTLE):
                case.step(ill)
            means[ill].append((time.monotonic_ns() - begin) / (BLOCK - SETTLE) / 1e6)
    if options.truth:
        print(json.dumps({"ill_ms": statistics.median(means[True]), "well_ms": statistics.median(means[False]),
                          "ratios": [well / ill for ill, well in zip(means[True], means[False])]}), flush=True)


if __name__ == "__main__":
    main()
