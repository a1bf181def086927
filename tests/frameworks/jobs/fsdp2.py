# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on two ranks; rank 1 sleeps 15 ms in each forward. It knows nothing of a profiler."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self, late):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(4))
        self.last = nn.Linear(256, 10)
        self.late = late

    def forward(self, x):
        if self.late:
            time.sleep(0.015)
        for layer in self.layers:
            x = layer(x)
        return self.last(x)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = Model(late=rank == 1)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(40):
        x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
