# SPDX-License-Identifier: Apache-2.0
"""A script with trouble on request: DistributedDataParallel, FSDP2, or a framework's trainer (train_frameworks.py). It knows
nothing of a profiler, and keeps time itself.

    torchrun --nproc-per-node=2 train_faults.py --steps 60 --fault loader --rank 1 --ms 10 --times times.json
"""
import argparse
import gc
import importlib
import json
import os
import pathlib
import random
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

FAULTS = ("none", "loader", "forward", "compute", "backward", "optimizer", "gc", "log", "checkpoint", "transient", "rotating",
          "onset")
CHECKPOINT_EVERY = 10
SHARE = 0.1  # of the steps, that a transient delay or a collection is in
FRAMEWORKS = ("lightning", "accelerate", "hugging-face")


class Samples(Dataset):
    """Whose batches come late on one rank."""

    def __init__(self, inputs, labels, trouble):
        self.inputs, self.labels, self.trouble = inputs, labels, trouble

    def __len__(self):
        return len(self.labels)

    def __getitems__(self, indices):
        if self.trouble.here("loader"):
            time.sleep(self.trouble.seconds)
        return [(self.inputs[i], self.labels[i]) for i in indices]


def images_of(options, trouble):
    """As many as all ranks need."""
    count = options.steps * options.batch * trouble.ranks
    return Samples(torch.randn(count, 1, 28, 28), torch.randint(0, 10, (count,)), trouble)


class Net(nn.Module):
    def __init__(self, trouble):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)
        self.trouble = trouble

    def forward(self, x):
        time.sleep(self.trouble.device_s)
        self.trouble.forward()
        x = torch.relu(torch.max_pool2d(self.conv1(x), 2))
        x = torch.relu(torch.max_pool2d(self.conv2(x), 2))
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def multiply(seconds):
    end = time.perf_counter() + seconds
    a = torch.randn(96, 96)
    while time.perf_counter() < end:
        a = torch.mm(a, a).clamp_(-1, 1)


class Trouble:
    """What goes wrong, and where."""

    def __init__(self, options, rank, ranks):
        self.kind, self.seconds, self.steps = options.fault, options.ms / 1000, options.steps
        self.rank, self.ranks, self.mine, self.step, self.block = rank, ranks, rank == options.rank, 0, options.block
        self.device_s = options.device_ms / 2000
        self.dice = random.Random(options.seed)

    def here(self, kind):
        return self.mine and self.kind == kind and self.strikes_now()

    def strikes_now(self):
        """By turns: a block of steps without, one with."""
        return self.block == 0 or (self.step // self.block) % 2 == 1

    def forward(self):
        strikes = self.dice.random() < SHARE
        late = self.here("onset") and self.step >= self.steps // 2
        if self.here("forward") or (self.here("transient") and strikes) or late:
            time.sleep(self.seconds)
        elif self.kind == "rotating" and self.step % self.ranks == self.rank and self.strikes_now():
            time.sleep(self.seconds)
        elif self.here("compute"):
            multiply(self.seconds)
        elif self.here("gc") and strikes:
            self.collect()

    def collect(self):
        """Python's own collector, with as much to look through as it needs for that long."""
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            gc.collect()

    def backward(self, gradient):
        time.sleep(self.device_s)
        if self.here("backward"):
            time.sleep(self.seconds)
        return gradient

    def after_step(self, model):
        if self.here("log"):
            print(f"step {self.step}", flush=True)
            time.sleep(self.seconds)
        if self.here("checkpoint") and self.step % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
            with tempfile.TemporaryDirectory() as folder:
                torch.save(model.state_dict(), pathlib.Path(folder) / "model.pt")
                time.sleep(self.seconds)
        self.step += 1


class Clock:
    """How long each step took, from the end of the one before."""

    def __init__(self):
        self.times, self.before = [], 0

    def start(self):
        self.before = time.perf_counter_ns()

    def after_step(self):
        now = time.perf_counter_ns()
        self.times.append(now - self.before)
        self.before = now


def wrap(net, how, trouble, ranks):
    if how == "ddp":
        net.conv1.weight.register_hook(trouble.backward)
        return DistributedDataParallel(net)
    net.conv2.register_full_backward_hook(lambda *_: trouble.backward(None))
    mesh = init_device_mesh("cpu", (ranks,))
    for layer in (net.conv2, net.fc1):
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--ms", type=float, default=0)
    parser.add_argument("--block", type=int, default=0, metavar="N", help="N steps without the fault, N with it, and so on")
    parser.add_argument("--device-ms", type=float, default=0, help="each rank waits that long per step, as if for a device")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrap", choices=("ddp", "fsdp2", *FRAMEWORKS), default="ddp")
    parser.add_argument("--times", help="rank 0 writes the steps' times there, in ns")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(42)
    trouble = Trouble(options, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    clock = Clock()
    if options.wrap in FRAMEWORKS:
        framework = importlib.import_module("train_frameworks")  # whose packages need not be there for the others
        getattr(framework, options.wrap.replace("-", "_"))(options, trouble, clock)
    else:
        train(options, trouble, clock)
    if trouble.rank == 0 and options.times:
        pathlib.Path(options.times).write_text(json.dumps(clock.times))
    if dist.is_initialized():
        dist.destroy_process_group()


def train(options, trouble, clock):
    dist.init_process_group("gloo")
    data = images_of(options, trouble)
    loader = DataLoader(data, batch_size=options.batch, sampler=DistributedSampler(data))
    net = Net(trouble)
    model = wrap(net, options.wrap, trouble, trouble.ranks)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    clock.start()
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        if trouble.here("optimizer"):
            time.sleep(trouble.seconds)
        optimizer.step()
        trouble.after_step(model)
        clock.after_step()


if __name__ == "__main__":
    main()
