# SPDX-License-Identifier: Apache-2.0
"""A small DDP training run that prints its step time: the model on which recording costs are compared.

  torchrun --nproc-per-node=2 train_convnet.py --steps 200 [--profiler torch] [--ready-batches]

The last line of rank 0 is JSON: {"step_ms": [...], "checksum": ...}, the steps after the warm-up.
"""
import argparse
import contextlib
import json
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WARM_UP_STEPS = 20


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(20, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


def profiler(kind):
    if kind == "torch":
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    return contextlib.nullcontext()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--profiler", choices=["none", "torch"], default="none")
    parser.add_argument("--ready-batches", action="store_true", help="batches made before the first step, without a loader")
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(42)
    torch.set_num_threads(1)
    samples = options.batch * options.steps * dist.get_world_size()
    images = torch.randn(min(samples, 4096), 1, 28, 28)
    labels = torch.randint(0, 10, (images.shape[0],))
    dataset = TensorDataset(images, labels)
    loader = DataLoader(dataset, batch_size=options.batch, sampler=DistributedSampler(dataset))
    ready = list(loader) if options.ready_batches else None
    model = DistributedDataParallel(ConvNet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()

    step_ms = []
    epoch = 0
    with profiler(options.profiler):
        while len(step_ms) < options.steps:
            loader.sampler.set_epoch(epoch)
            epoch += 1
            begin = time.perf_counter()
            for batch, target in ready or loader:
                optimizer.zero_grad()
                loss_function(model(batch), target).backward()
                optimizer.step()
                now = time.perf_counter()
                step_ms.append((now - begin) * 1e3)
                begin = now
                if len(step_ms) == options.steps:
                    break
    checksum = sum(float(p.detach().double().sum()) for p in model.parameters())
    if dist.get_rank() == 0:
        print(json.dumps({"step_ms": step_ms[WARM_UP_STEPS:], "checksum": checksum}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
