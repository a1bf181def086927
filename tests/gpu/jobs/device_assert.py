# SPDX-License-Identifier: Apache-2.0
"""DDP on two ranks; in step 30 rank 1 looks up indices that its table does not have: an assertion on the device."""
import torch, torch.distributed as dist
from torch import nn
torch.cuda.set_device(0); dist.init_process_group("nccl"); r=dist.get_rank()
net=nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(100,64),nn.Linear(64,64)).cuda(),device_ids=[0]); opt=torch.optim.SGD(net.parameters(),lr=.1)
for i in range(60):
    x=torch.randint(0,100,(64,),device='cuda')
    if i==30 and r==1: x=x+1000
    opt.zero_grad(); net(x).sum().backward(); opt.step(); torch.cuda.synchronize()
