# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; in step 40 rank 1 makes an all-reduce that rank 0 does not make."""
import torch, torch.distributed as dist, time
from torch import nn
torch.cuda.set_device(0); dist.init_process_group("nccl"); r=dist.get_rank()
net=nn.parallel.DistributedDataParallel(nn.Linear(1024,1024).cuda(),device_ids=[0]); opt=torch.optim.SGD(net.parameters(),lr=.1)
for i in range(100):
    opt.zero_grad(); net(torch.randn(64,1024,device='cuda')).sum().backward()
    if i==40 and r==1:
        dist.all_reduce(torch.ones(1000,device='cuda')); torch.cuda.synchronize()
    opt.step(); torch.cuda.synchronize()
