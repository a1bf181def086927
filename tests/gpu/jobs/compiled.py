# SPDX-License-Identifier: Apache-2.0
"""torch.compile with CUDA graphs; its compiler starts worker processes."""
import torch
from torch import nn
net=nn.Sequential(*[nn.TransformerEncoderLayer(512,8,2048,batch_first=True,dropout=0) for _ in range(4)]).cuda()
f=torch.compile(net,mode="reduce-overhead"); opt=torch.optim.AdamW(net.parameters(),lr=1e-4,fused=True)
for i in range(60):
    x=torch.randn(8,128,512,device='cuda')
    with torch.autocast('cuda',torch.bfloat16): loss=f(x).float().pow(2).mean()
    loss.backward(); opt.step(); opt.zero_grad()
print(loss.item())
