# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; rank 1 may have 2 % of the memory, and keeps 32 MiB more each step."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(0)
dist.init_process_group("nccl")
if dist.get_rank() == 1:
    torch.cuda.set_per_process_memory_fraction(0.02)
net = DistributedDataParallel(nn.Linear(1024, 1024).cuda(), device_ids=[0])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = []
for _ in range(400):
    optimizer.zero_grad()
    net(torch.randn(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
    kept.append(torch.empty(32 << 20, dtype=torch.uint8, device="cuda"))
