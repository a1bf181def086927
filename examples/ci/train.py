# SPDX-License-Identifier: Apache-2.0
"""The training that examples/ci/pipeline.sh checks: DistributedDataParallel on processors, with a DataLoader.

    torchrun --nproc-per-node=2 train.py [--augment N]
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

STEPS = 60
BATCH = 32


class Pictures(Dataset):
    def __init__(self, augment):
        self.augment = augment

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        picture = torch.full((1, 28, 28), index / len(self))
        for turn in range(self.augment):  # one picture after the other, in the process that trains
            picture = picture.roll(turn, dims=2).flip(1)
        return picture, index % 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--augment", type=int, default=0, metavar="N", help="how often each picture is turned")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(1024, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for pictures, labels in DataLoader(Pictures(options.augment), BATCH):
        optimizer.zero_grad()
        criterion(model(pictures), labels).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
