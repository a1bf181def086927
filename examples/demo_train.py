# SPDX-License-Identifier: Apache-2.0
"""What `dprof demo` records: a plain DistributedDataParallel training on processors, whose last rank loads its data slowly.

    torchrun --nproc-per-node=2 demo_train.py
"""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 60
BATCH = 64
SLOW_SECONDS = 0.03


def load(slow):
    """A batch of random pictures; the slow loader stands for a disk that is busy."""
    if slow:
        time.sleep(SLOW_SECONDS)
    return torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    slow = dist.get_rank() == dist.get_world_size() - 1
    for _ in range(STEPS):
        with torch.profiler.record_function("load_batch"):
            images, labels = load(slow)
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
