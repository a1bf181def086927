# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; in step 30 rank 1 looks up indices that its table does not have: an assertion on the device."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.cuda.set_device(0)
dist.init_process_group("nccl")
net = nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 64)).cuda()
net = DistributedDataParallel(net, device_ids=[0])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(60):
    indices = torch.randint(0, 100, (64,), device="cuda")
    if step == 30 and dist.get_rank() == 1:
        indices = indices + 1000
    optimizer.zero_grad()
    net(indices).sum().backward()
    optimizer.step()
    torch.cuda.synchronize()
