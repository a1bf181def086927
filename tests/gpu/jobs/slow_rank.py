# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; from step 10 on rank 1 sleeps 15 ms before backward."""
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.cuda.set_device(0)
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.manual_seed(rank)
net = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128 * 64, 512), nn.ReLU(),
    nn.Linear(512, 10)).cuda()
net = DistributedDataParallel(net, device_ids=[0])
samples = TensorDataset(torch.randn(128 * 80, 3, 32, 32), torch.randint(0, 10, (128 * 80,)))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step, (x, y) in enumerate(DataLoader(samples, batch_size=128, num_workers=1)):
    x, y = x.cuda(), y.cuda()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    if rank == 1 and step >= 10:
        time.sleep(0.015)
    loss.backward()
    optimizer.step()
    loss.item()
dist.destroy_process_group()
