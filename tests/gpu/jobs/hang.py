# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; in step 40 rank 1 makes an all-reduce that rank 0 does not make."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(0)
dist.init_process_group("nccl")
net = DistributedDataParallel(nn.Linear(1024, 1024).cuda(), device_ids=[0])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    optimizer.zero_grad()
    net(torch.randn(64, 1024, device="cuda")).sum().backward()
    if step == 40 and dist.get_rank() == 1:
        dist.all_reduce(torch.ones(1000, device="cuda"))
        torch.cuda.synchronize()
    optimizer.step()
    torch.cuda.synchronize()
