# SPDX-License-Identifier: Apache-2.0
"""torch.compile with CUDA graphs; its compiler starts worker processes."""
import torch
from torch import nn

layers = (nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0) for _ in range(4))
net = nn.Sequential(*layers).cuda()
compiled = torch.compile(net, mode="reduce-overhead")
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
for _ in range(60):
    x = torch.randn(8, 128, 512, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = compiled(x).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
