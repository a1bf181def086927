# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; rank 1 may have 2 % of the memory, and keeps 32 MiB more each step."""
import os, torch, torch.distributed as dist
from torch import nn
torch.cuda.set_device(0); dist.init_process_group("nccl"); r=dist.get_rank()
if r==1: torch.cuda.set_per_process_memory_fraction(0.02)
net=nn.parallel.DistributedDataParallel(nn.Linear(1024,1024).cuda(),device_ids=[0]); opt=torch.optim.SGD(net.parameters(),lr=.1)
keep=[]
for i in range(400):
    opt.zero_grad(); net(torch.randn(64,1024,device='cuda')).sum().backward(); opt.step()
    keep.append(torch.empty(32<<20,dtype=torch.uint8,device='cuda'))
    if i>40: pass
